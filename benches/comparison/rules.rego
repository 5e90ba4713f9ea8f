package retry

matches(rule) if {
	kind_matches(rule.kind, input.error.kind)
	header_matches(rule)
}

kind_matches(pattern, kind) if pattern == kind

kind_matches(pattern, kind) if {
	endswith(pattern, "*")
	startswith(kind, trim_suffix(pattern, "*"))
}

header_matches(rule) if not rule.header

header_matches(rule) if input.headers[rule.header.name] == rule.header.value

# Rego has no loop that ends at the first match: all rules are looked at.
rule := [rule | some rule in data.settings.rules; matches(rule)][0]

exhausted if input.attempt >= rule.retry.max_attempts

# Attempts past `max_attempts`, which bounds the shift, get no wait.
wait := min({rule.retry.initial_delay * bits.lsh(1, input.attempt - 1), rule.retry.max_delay})

default verdict := {"action": "dead-letter", "reason": "no rule fits"}

verdict := {"action": "dead-letter", "label": rule.label, "reason": rule.reason} if exhausted

verdict := {"action": "retry", "delay_ms": wait, "reason": rule.reason} if {
	not exhausted
	wait <= data.settings.longest_retry
}

verdict := {"action": "delay", "delay_ms": wait, "reason": rule.reason} if {
	not exhausted
	wait > data.settings.longest_retry
}
