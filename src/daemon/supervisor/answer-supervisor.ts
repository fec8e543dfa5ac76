import type { DaemonMessage, SupervisorMessage } from './supervised-process.ts';

/**
 * Answers the pings of the supervisor of this process, if there is one. Call it before the start, so that a daemon that
 * waits as a standby or recovers answers as well.
 *
 * @returns a function that tells the supervisor that the start is complete
 */
export function answerSupervisor(channel: NodeJS.Process): () => void {
  const send = (message: DaemonMessage): void => {
    // Without a channel the supervisor has ended, and this process ends soon.
    if (channel.connected) channel.send?.(message, undefined, undefined, () => undefined);
  };
  channel.on('message', (message) => {
    if (message === ('slipway:ping' satisfies SupervisorMessage)) send('slipway:pong');
  });
  return () => {
    send('slipway:listening');
  };
}
