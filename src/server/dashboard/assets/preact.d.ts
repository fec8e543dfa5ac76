// The server sends the library under this name; its types are those of the package.
export * from 'preact';
