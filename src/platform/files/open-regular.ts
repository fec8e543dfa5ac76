import { constants } from 'node:fs';

/** Flags that open only regular files: they follow no symbolic link, and do not block on a FIFO or device. Source: open(2). */
export const OPEN_REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
