package events

// CommandBodies are the bodies of all commands, by name.
func CommandBodies() map[string]CommandBody {
	all := map[string]CommandBody{}
	for name, make := range bodies {
		all[name] = make()
	}
	return all
}
