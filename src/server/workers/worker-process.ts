import type { PrimaryMessage, WorkerMessage } from './worker-messages.ts';

/** How a process ended. */
export interface WorkerExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A worker process as the supervisor sees it. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** Does nothing if the process has ended. */
  send(message: PrimaryMessage): void;
  kill(): void;
  onMessage(listener: (message: WorkerMessage) => void): void;
  /** Called once, even if the process could not be started. */
  onExit(listener: (how: WorkerExit) => void): void;
}
