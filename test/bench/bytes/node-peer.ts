import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { endChild, type Peer } from './peer.ts';

/** What Node users would otherwise take to serve files. */
export const NODE_FILE_SERVERS = ['express.static', 'sirv', 'node:http'] as const;

/** Everything that {@link startNodePeer} can start. */
export type NodePeerKind = (typeof NODE_FILE_SERVERS)[number] | 'express route';

/**
 * Starts one of them in a process of its own.
 *
 * @param input the directory to serve; for `express route`, the JSON that is answered on every path
 */
export async function startNodePeer(kind: NodePeerKind, input: string): Promise<Peer> {
  const program = join(import.meta.dirname, 'node-peer-child.ts');
  const child = spawn(process.execPath, [program, kind, input], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // express looks at it; nobody runs it as in development.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const port = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([line]) => Number(line)),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${kind} ended with ${String(code)} before it listened`);
    }),
  ]);
  return {
    name: kind,
    pid: child.pid ?? -1,
    url: (path) => `http://127.0.0.1:${port}/${path.replace(/^\//, '')}`,
    stop: async () => {
      await endChild(child);
    },
  };
}
