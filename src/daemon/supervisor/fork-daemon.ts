import { fork } from 'node:child_process';
import type { DaemonMessage, ProcessExit, SupervisedProcess } from './supervised-process.ts';
import { SUPERVISION_VARIABLE, type Supervision } from './supervision.ts';

interface ForkDaemonOptions {
  /** Path of the program. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly supervision: Supervision;
}

const MESSAGES: ReadonlySet<unknown> = new Set<DaemonMessage>(['slipway:listening', 'slipway:pong']);

/** Starts a process of the daemon, with a channel on which it answers; it ends when the channel closes. */
export function forkDaemon({ program, args, env, supervision }: ForkDaemonOptions): SupervisedProcess {
  const child = fork(program, args, {
    env: { ...env, [SUPERVISION_VARIABLE]: JSON.stringify(supervision) },
    // A group of its own: the Ctrl-C of a terminal reaches only the supervisor, which passes one signal on.
    detached: true,
  });
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    });
    child.on('error', () => {
      // A process that could not be started emits no exit.
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
  });
  return {
    pid: child.pid,
    send: (message) => {
      // A message that cannot be sent reaches a process that is ending; its exit reports that.
      if (child.connected) child.send(message, () => undefined);
    },
    kill: (signal) => child.kill(signal),
    onMessage: (listener) => {
      child.on('message', (message: unknown) => {
        if (MESSAGES.has(message)) listener(message as DaemonMessage);
      });
    },
    exited,
  };
}
