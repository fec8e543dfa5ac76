/** How a process ended. */
export interface ProcessExit {
  /** `null` when a signal ended the process, or when it could not be started. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** Messages of the supervisor to the daemon. */
export type SupervisorMessage = 'slipway:ping';

/** Messages of the daemon to its supervisor: it listens, or it answers a ping. */
export type DaemonMessage = 'slipway:listening' | 'slipway:pong';

/** A process of the daemon as its supervisor sees it. */
export interface SupervisedProcess {
  readonly pid: number | undefined;
  /** Does nothing if the process has ended. */
  send(message: SupervisorMessage): void;
  /** Does nothing if the process has ended. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  onMessage(listener: (message: DaemonMessage) => void): void;
  /** Resolves once, even if the process could not be started. */
  readonly exited: Promise<ProcessExit>;
}
