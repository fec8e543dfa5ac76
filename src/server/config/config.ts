import { z } from 'zod';
import { RUNBOOK_ADDRESS, RUNBOOK_BASE } from '../../contract/problems/problem-links.ts';
import { listenHost } from '../../platform/http/listen-host.ts';
import { isLoopbackHost } from '../../platform/http/loopback.ts';
import { admin, auth } from './auth-config.ts';
import { launcher, serverInfo } from './launcher-config.ts';
import { limits, shutdown } from './limits-config.ts';
import { cdn, cors, publicBaseUrl } from './public-config.ts';

const MEBIBYTE = 1024 * 1024;
const port = z.int().min(0).max(65_535);

function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, username } = new URL(text);
  return (
    protocol === 'http:' && isLoopbackHost(hostname) && pathname === '/' && search === '' && username === ''
  );
}

const listen = z
  .strictObject({
    host: listenHost('Address to listen on'),
    port: port.default(8080).describe('TCP port; 0 picks a free one.'),
  })
  .prefault({})
  .describe('Where clients, launchers and probes reach the server.');

const metrics = z
  .strictObject({
    host: listenHost('Address of the metrics port'),
    port: port.default(9090).describe('TCP port of /metrics; 0 picks a free one.'),
  })
  .prefault({})
  .describe('Where Prometheus reaches the server.');

const daemon = z
  .strictObject({
    url: z
      .string()
      .refine(isLoopbackUrl, 'must be http:// on a loopback address, without a path')
      .default('http://127.0.0.1:8091')
      .describe('The daemon on loopback. Not used when socketPath is set.'),
    socketPath: z.string().min(1).optional().describe('Unix socket of the daemon.'),
    tokenFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The token file of the daemon: its tokenFile, by default api.token in the daemon's data.dir.",
      ),
    timeoutMs: z
      .int()
      .min(50)
      .max(120_000)
      .default(5_000)
      .describe('Total time for one answer, in addition to the wait of a long poll.'),
    waitSeconds: z
      .int()
      .min(0)
      .max(60)
      .default(20)
      .describe('How long one poll for a new attestation may wait.'),
  })
  .prefault({})
  .describe('The backend daemon.');

const runbooks = z
  .strictObject({
    url: z
      .string()
      .regex(RUNBOOK_ADDRESS, 'must begin with http:// or https://, without credentials, query and fragment')
      .overwrite((url) => (url.endsWith('/') ? url : `${url}/`))
      .default(RUNBOOK_BASE)
      .describe(
        'Where the runbooks are, if not on this server: problems with a reason and the console link to REASON.md below this address, which is that of a copy of docs/runbooks, or to REASON where it ends with /admin/dashboard/runbooks, as that of a server does.',
      ),
  })
  .prefault({})
  .describe('The runbooks.');

const scrub = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Whether the server continuously reads and verifies everything it serves, including files that nobody requests.',
      ),
    bytesPerSecond: z
      .int()
      .min(65_536)
      .default(16 * MEBIBYTE)
      .describe('Maximum number of bytes that the scrub reads per second; fewer while the server is busy.'),
    share: z
      .number()
      .min(0.001)
      .max(1)
      .default(0.1)
      .describe('Maximum share of the time that the scrub may work, 0 to 1; less while the server is busy.'),
    restSeconds: z
      .number()
      .min(1)
      .max(604_800)
      .default(600)
      .describe('How long the scrub pauses after each pass.'),
    stateFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File that stores the position of the scrub across restarts, in a folder that the server may write; without it, the scrub starts at a random position.',
      ),
  })
  .prefault({})
  .describe('The continuous verification of all served files.');

/** Configuration of the distribution server: file, environment (`SLIPWAY_...`) and flags share these names. */
export const serverConfigurationSchema = z.strictObject({
  workers: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe('Worker processes that share the port; each needs its own memory.'),
  listen,
  metrics,
  publicBaseUrl,
  cdn,
  cors,
  snapshot: z
    .strictObject({
      root: z.string().min(1).describe('Mount point of the snapshot volume; the server only reads it.'),
    })
    .describe('The snapshot volume.'),
  daemon,
  attestation: z
    .strictObject({
      publicKeyFiles: z
        .array(z.string().min(1))
        .min(1, 'needs at least one public key to verify attestations')
        .max(16)
        .describe(
          'PEM files with trusted Ed25519 public keys, or folders of them; reloaded when they change.',
        ),
    })
    .describe('Trusted signing keys.'),
  serverInfo,
  auth,
  admin,
  strict: z
    .boolean()
    .default(false)
    .describe(
      'Whether weak secrets stop the start: a token shorter than 16 characters, or one that every user can read. Otherwise they are warnings.',
    ),
  runbooks,
  launcher,
  cache: z
    .strictObject({
      blockBytes: z
        .int()
        .min(0)
        .default(512 * MEBIBYTE)
        .describe(
          'Memory for verified blocks of resource bytes, including spare read buffers, bytes; 0 turns the cache off. Bytes from memory are not hashed again.',
        ),
    })
    .prefault({})
    .describe('Memory budgets.'),
  fastPath: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe(
          'Whether plain GET and HEAD requests for resource bytes are answered in front of the full HTTP server, with the same responses.',
        ),
    })
    .prefault({})
    .describe('The fast path for plain requests.'),
  limits,
  shutdown,
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe('Minimum level of log lines.'),
      access: z
        .enum(['all', 'control', 'none'])
        .default('all')
        .describe(
          'Which requests are logged at level info: all, all except resource bytes and probes, or none.',
        ),
    })
    .prefault({})
    .describe('Logging.'),
  scrub,
  verification: z
    .strictObject({
      threads: z.int().min(1).max(64).default(1).describe('Worker threads that hash resource bytes.'),
    })
    .prefault({})
    .describe('Verification of resource bytes.'),
});

/** The distribution server's configuration with all defaults filled in. */
export type ServerConfiguration = z.output<typeof serverConfigurationSchema>;
