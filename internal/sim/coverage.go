package sim

// unreached is what the simulation does not bring about, with the reason.
var unreached = map[string]string{
	"expired": "no run lasts as long as the window in which repetitions are known",
}
