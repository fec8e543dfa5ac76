import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { endChild, type Peer } from './peer.ts';

/** The usual ways to serve files with Node; `pread` also hashes each block before it sends it. */
export type NodePeerKind = 'express.static' | 'sirv' | 'node:http' | 'pread';

/** Starts one of them in its own process; it serves a directory. */
export async function startNodePeer(kind: NodePeerKind, directory: string): Promise<Peer> {
  const program = join(import.meta.dirname, 'node-peer-child.ts');
  const child = spawn(process.execPath, [program, kind, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // express reads it. Users do not run express in development mode.
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
