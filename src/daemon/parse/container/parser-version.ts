/** Version of the parser. Containers are parsed again when it changes. */
export const PARSER_VERSION = '3';
