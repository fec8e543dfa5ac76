import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { processFamily } from '../processor-time.ts';

/** A program and the beginning of its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/**
 * Runs a daemon with the share that the chart gives it beside a server: its processor request is 100m against 250m, and a
 * difference of 4 in niceness is a factor of 2.4 in weight.
 */
export const CHART_DAEMON: Command = ['nice', '-n', '4'];

/** The processors that servers and clients may use. */
export interface Placement {
  /** Moves a running process to the processor of the server, to that of the client, or to all of them. */
  place(pid: number, where: 'one' | 'client' | 'all'): void;
  /** The command prefix of a client: on another processor than a server that has only one. */
  client(where: 'one' | 'all'): Command;
}

/**
 * Finds the processors that this process may use.
 *
 * @returns `null` when there are fewer than two: server and client would take turns
 */
export function findPlacement(): Placement | null {
  const list = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  const [first, second] = list.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  if (first === undefined || second === undefined) return null;
  const processors = { one: String(first), client: String(second), all: list };
  return {
    place: (pid, where) => {
      for (const member of processFamily(pid)) {
        execFileSync('taskset', ['-a', '-c', '-p', processors[where], String(member)]);
      }
    },
    client: (where) => ['taskset', '-c', where === 'one' ? String(second) : list],
  };
}
