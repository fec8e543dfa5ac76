import { z } from 'zod';
import { EVERY_ADDRESS } from './listen.ts';

/** The setting that says where a listener is reached. @param what its description, without a full stop */
export function listenHost(what: string): z.ZodDefault<z.ZodString> {
  return z
    .string()
    .min(1)
    .default(EVERY_ADDRESS)
    .describe(
      `${what}. "::" listens on all IPv6 and IPv4 addresses, or on IPv4 only where the system has no IPv6.`,
    );
}
