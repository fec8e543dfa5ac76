/** The finder of damage on the server: a read for a client, the scrub, or the reader of a snapshot. */
export type ServerDamageFinder = 'client' | 'scrub' | 'loading';
