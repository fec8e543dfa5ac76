/** How a format writes the path of a value inside a file. */
export interface PathSyntax {
  /** The path of a field of the value at `parent`; the parent of a top-level field is the empty path. */
  field(parent: string, name: string): string;
  element(parent: string, name: string | number): string;
}

/** JSON Pointer: `/rows/0/TextJp`. Source: RFC 6901, section 3; see {@link escapePointer} for `#`. */
export const POINTER_SYNTAX: PathSyntax = {
  field: (parent, name) => `${parent}/${escapePointer(name)}`,
  element: (parent, name) => `${parent}/${typeof name === 'number' ? name : escapePointer(name)}`,
};

/** XPath: `/resources[1]/string[3]/text()`. Elements come with their numbers; the children of an element have no name. */
export const XML_SYNTAX: PathSyntax = {
  field: (parent, name) => (name === '' ? parent : `${parent}/${name}`),
  element: (parent, name) => `${parent}/${name}`,
};

/** Names and indexes as in a programming language: `lines[0].text`; a name with other characters is `["quoted"]`. */
export const DOTTED_SYNTAX: PathSyntax = {
  field: (parent, name) => {
    if (!isPlain(name)) return `${parent}[${JSON.stringify(name)}]`;
    return parent === '' ? name : `${parent}.${name}`;
  },
  element: (parent, name) => `${parent}[${name}]`,
};

function isPlain(name: string): boolean {
  return name !== '' && !/[.[\]"#]/.test(name);
}

/**
 * One part of a JSON pointer (RFC 6901, section 3). `#` becomes `~2`, which no pointer has otherwise, because a path
 * continues behind `#` into the file inside of a string.
 */
export function escapePointer(name: string): string {
  if (!/[~/#]/.test(name)) return name;
  return name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('#', '~2');
}
