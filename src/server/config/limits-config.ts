import { z } from 'zod';
import { parseNetwork } from '../../platform/http/networks.ts';

const MEBIBYTE = 1024 * 1024;

/** The section `limits`. */
export const limits = z
  .strictObject({
    maxConnections: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(8_192)
      .describe(
        'Maximum number of open connections. At the limit, the connection that has been idle for longest is closed for a new one.',
      ),
    maxConnectionsPerAddress: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe(
        'Maximum number of open connections of one client address (of one /64 network of IPv6), for each worker process; 0: no limit. Behind a proxy, list it in trustedProxies.',
      ),
    trustedProxies: z
      .array(
        z
          .string()
          .refine(
            (text) => parseNetwork(text) !== null,
            'must be an address or a network such as 10.0.0.0/8',
          ),
      )
      .max(64)
      .default([])
      .describe('Addresses and networks (CIDR) of proxies, which maxConnectionsPerAddress does not limit.'),
    headersTimeoutMs: z
      .int()
      .min(100)
      .default(10_000)
      .describe('Time for a client to send a request head, milliseconds.'),
    requestTimeoutMs: z
      .int()
      .min(100)
      .default(30_000)
      .describe('Time for a client to send a whole request, milliseconds.'),
    keepAliveTimeoutMs: z
      .int()
      .min(0)
      .default(65_000)
      .describe('How long an idle connection stays open, milliseconds; longer than the ingress keeps it.'),
    maxHeaderBytes: z
      .int()
      .min(1_024)
      .max(MEBIBYTE)
      .default(16 * 1_024)
      .describe('Maximum size of a request head, bytes.'),
    revalidations: z
      .int()
      .min(1)
      .max(64)
      .default(2)
      .describe('Entries that /v1/distribution re-reads and hashes concurrently.'),
  })
  .prefault({})
  .describe('Bounds on clients.');

/** The section `shutdown`. */
export const shutdown = z
  .strictObject({
    propagationDelaySeconds: z
      .number()
      .min(0)
      .max(300)
      .default(5)
      .describe('How long the server accepts requests after readiness has become 503.'),
    drainSeconds: z
      .number()
      .min(0)
      .max(3_600)
      .default(30)
      .describe('How long requests in flight may take to finish after that.'),
  })
  .prefault({})
  .describe('The shutdown after SIGTERM.');
