// The server sends the library under this name; its types come from the package.
export * from 'preact';
