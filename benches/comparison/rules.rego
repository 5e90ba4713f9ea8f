package retry

matches(candidate) if {
	kind_matches(candidate.kind, input.error.kind)
	header_matches(candidate)
}

kind_matches(pattern, kind) if pattern == kind

kind_matches(pattern, kind) if {
	endswith(pattern, "*")
	startswith(kind, trim_suffix(pattern, "*"))
}

header_matches(candidate) if not candidate.header

header_matches(candidate) if input.headers[candidate.header.name] == candidate.header.value

# Rego has no loop that ends at the first match: all rules are looked at.
rule := [candidate | some candidate in data.settings.rules; matches(candidate)][0]

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
