# nvdisasm -hex -c's output as "= KERNEL" and "BYTE HIGH-WORD LOW-WORD TEXT" lines.
/^\.text\./ { sub(/^\.text\./, ""); sub(/:.*/, ""); print "= " $0; next }
/^[ \t]*\/\*[0-9a-f]+\*\/ .*\/\* 0x[0-9a-f]+ \*\// {
	at = $0; sub(/^[ \t]*\/\*/, "", at); sub(/\*\/.*/, "", at)
	low = $0; sub(/ \*\/[ \t]*$/, "", low); sub(/.*\/\* 0x/, "", low)
	text = $0; sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]+/, "", text)
	sub(/[ \t]*;[ \t]*\/\* 0x.*/, "", text); sub(/[ \t]*\/\* 0x.*/, "", text)
	next
}
/^[ \t]*\/\* 0x[0-9a-f]+ \*\// && low != "" {
	high = $0; sub(/ \*\/[ \t]*$/, "", high); sub(/.*\/\* 0x/, "", high)
	print at, high, low, text
	low = ""
}
