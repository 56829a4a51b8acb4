// Package plannerd is the planner service: it joins the planner group, follows
// the definitions, and hosts the machine of package planner in every partition
// that the group gives it (internal/partition).
package plannerd
