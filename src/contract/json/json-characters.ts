// Structural characters of JSON as code units of a text and as bytes of UTF-8 alike. Source: RFC 8259, section 2.

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
