import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A server under measurement. */
export interface Peer {
  readonly name: string;
  readonly pid: number;
  /** The URL of a file of the corpus, or of another path. */
  url(path: string): string;
  stop(): Promise<void>;
}

/** Stops a child process of a bench. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
