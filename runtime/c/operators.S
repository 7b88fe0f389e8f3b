// The text of OPERATORS.json, as qgen_operators_json() gives it.
  .section .rodata
  .global qgen_operators_text
  .hidden qgen_operators_text
qgen_operators_text:
  .incbin "OPERATORS.json"
  .byte 0
  .section .note.GNU-stack,"",%progbits
