import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/**
 * Above 10080, the last of the ports that `fetch` refuses (Fetch Standard, "bad port"). Below the ephemeral range of Linux (32768 to
 * 60999), from which the connections of other tests take their ports.
 */
const RANGE = [10_081, 32_000] as const;
/** A file for each port that a test has chosen, because the program listens at it a while later. */
const CLAIMS = join(tmpdir(), `slipway-test-ports-${process.getuid?.() ?? 'user'}`);
/** After this time the program listens, or its test has ended. */
const CLAIM_MS = 600_000;

/**
 * Finds loopback ports that are free now, that no outgoing connection takes later, and that no other test chooses meanwhile.
 *
 * @param count how many ports; all are different
 */
export async function freePorts(count: number): Promise<number[]> {
  await mkdir(CLAIMS, { recursive: true });
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(...RANGE);
    if ((await claim(port)) && (await isFree(port))) ports.push(port);
  }
  return ports;
}

/** Claims a port; `false` when another test has claimed it. */
async function claim(port: number): Promise<boolean> {
  const file = join(CLAIMS, String(port));
  const claimedAt = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
  if (claimedAt !== null) {
    if (Date.now() - claimedAt < CLAIM_MS) return false;
    await rm(file, { force: true });
  }
  return await writeFile(file, '', { flag: 'wx' }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
