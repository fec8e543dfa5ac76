import { describe, expect, it } from 'vitest';
import { createRivalry, type Rivalry } from '../../../../src/operator/reconcile/rivalry.ts';
import { parseReleaseChannel, type ReleaseChannel } from '../../../../src/operator/kubernetes/objects.ts';

const EARLY = '2026-01-15T12:00:00Z';
const LATE = '2026-01-15T12:00:01Z';

function channel(
  name: string,
  creationTimestamp: string,
  { of = 'official', server = 'slipway', deletionTimestamp = null as string | null } = {},
): ReleaseChannel {
  return parseReleaseChannel({
    metadata: {
      name,
      namespace: 'ns',
      uid: name,
      resourceVersion: '1',
      creationTimestamp,
      deletionTimestamp,
    },
    spec: {
      channel: of,
      serverRef: { name: server, port: 80 },
      adminTokenSecretRef: { name: 'admin', key: 'token' },
    },
  });
}

function rivalry(...all: readonly ReleaseChannel[]): Rivalry {
  return createRivalry({
    // Two Services of the chart lead to the same pods.
    servicesWithPodsOf: (_namespace, service) =>
      new Set(service.startsWith('slipway') ? ['slipway', 'slipway-admin'] : [service]),
    channel: (key) => all.find((each) => each.key === key),
    exists: (key) => key === 'ns/unreadable' || all.some((each) => each.key === key),
    channelsOf: (namespace, service) =>
      all.filter((each) => each.namespace === namespace && each.spec.serverRef.name === service),
  });
}

describe('of several objects for one channel of one server', () => {
  it.each([
    ['the older one', [channel('z', EARLY), channel('a', LATE)], 'ns/z'],
    ['in a tie the one whose name sorts first', [channel('z', EARLY), channel('a', EARLY)], 'ns/a'],
    [
      'the oldest of many',
      [channel('b', LATE), channel('c', EARLY), channel('a', LATE), channel('d', EARLY)],
      'ns/c',
    ],
    [
      'no object that is being deleted',
      [channel('z', EARLY, { deletionTimestamp: LATE }), channel('a', LATE)],
      'ns/a',
    ],
    [
      'the older one, also through another Service of the same pods',
      [channel('z', EARLY, { server: 'slipway-admin' }), channel('a', LATE)],
      'ns/z',
    ],
  ])('%s acts, whatever the order', (_what, all, acting) => {
    for (const order of [all, [...all].reverse()]) {
      const judge = rivalry(...order);
      const idle = all.filter((each) => !each.isDeleting && each.key !== acting);
      expect(judge.isActing(acting)).toBe(true);
      for (const each of idle) {
        expect(judge.isActing(each.key)).toBe(false);
        expect(judge.obstacle(each)).toMatchObject({
          reason: 'ChannelTaken',
          message: expect.stringContaining(`"${acting.slice(3)}"`) as string,
        });
      }
    }
  });

  it('none is a rival of another channel or another server', () => {
    const judge = rivalry(
      channel('a', EARLY),
      channel('b', LATE, { of: 'localized' }),
      channel('c', LATE, { server: 'other' }),
    );
    expect(['ns/a', 'ns/b', 'ns/c'].map(judge.isActing)).toEqual([true, true, true]);
  });

  it('one that does not exist never acts, and one that cannot be read is left alone', () => {
    expect(['ns/gone', 'ns/unreadable'].map(rivalry().isActing)).toEqual([false, true]);
  });
});
