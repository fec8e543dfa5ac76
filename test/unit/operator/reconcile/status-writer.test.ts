import { expect, it } from 'vitest';
import type { Channel } from '../../../../src/domain/release/channel.ts';
import { CALM_REASONS } from '../../../../src/domain/service-state/calm-reasons.ts';
import type { ChannelWriter } from '../../../../src/operator/channels/channel-writer.ts';
import type { ReleaseChannel } from '../../../../src/operator/kubernetes/objects.ts';
import { createStatusWriter } from '../../../../src/operator/reconcile/status-writer.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';

/** The types of the events that a change from Ready to another state records. */
async function eventsOf(
  channel: Channel,
  ready: { readonly status: string; readonly reason: string },
): Promise<readonly string[]> {
  const events: string[] = [];
  const writer = {
    applyStatus: () => Promise.resolve('2'),
    record: (_channel: ReleaseChannel, { type, reason }: { type: string; reason: string }) => {
      events.push(`${type} ${reason}`);
      return Promise.resolve();
    },
  } as unknown as ChannelWriter;
  const write = createStatusWriter({ writer, logger: createSilentLogger() });
  const statusOf = (condition: object) =>
    ({ conditions: [{ type: 'Ready', message: '', ...condition }] }) as never;
  const object = { key: 'games/a', resourceVersion: '1', spec: { channel } } as unknown as ReleaseChannel;
  const before = statusOf({ status: 'True', reason: 'Distributable' });
  await write(object, statusOf(ready), before, { written: null, history: null });
  return events;
}

it.each(CALM_REASONS)('%s of a localized channel is a normal event', async (reason) => {
  expect(await eventsOf('localized', { status: 'False', reason })).toEqual([`Normal ${reason}`]);
});

it('other reasons, and those of the official channel, are warnings', async () => {
  expect(await eventsOf('localized', { status: 'False', reason: 'BaseReleaseChanged' })).toEqual([
    'Warning BaseReleaseChanged',
  ]);
  expect(await eventsOf('official', { status: 'False', reason: 'SnapshotLoading' })).toEqual([
    'Warning SnapshotLoading',
  ]);
  expect(await eventsOf('localized', { status: 'True', reason: 'Distributable' })).toEqual([]);
});
