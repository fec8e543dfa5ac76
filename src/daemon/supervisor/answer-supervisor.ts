import type { DaemonMessage, SupervisorMessage } from './supervised-process.ts';

/** Tells the supervisor of this process, if there is one, that the daemon listens, and answers its pings. */
export function answerSupervisor(channel: NodeJS.Process): void {
  const send = (message: DaemonMessage): void => {
    // Without a channel the supervisor has ended, and this process ends soon.
    if (channel.connected) channel.send?.(message, undefined, undefined, () => undefined);
  };
  channel.on('message', (message) => {
    if (message === ('slipway:ping' satisfies SupervisorMessage)) send('slipway:pong');
  });
  send('slipway:listening');
}
