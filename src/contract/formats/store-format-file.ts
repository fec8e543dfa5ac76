/** Name of the file at the root of a snapshot volume that says what the volume is. */
export const STORE_FORMAT_FILE = 'FORMAT';
