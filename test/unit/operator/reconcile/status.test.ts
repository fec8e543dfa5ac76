import { describe, expect, it } from 'vitest';
import {
  HISTORY_MAX,
  ReleaseChannelSpecSchema,
  ReleaseChannelStatusSchema,
  type ReleaseChannelStatus,
} from '../../../../src/contract/crd/release-channel.ts';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import { ReleaseStatusReport } from '../../../../src/contract/reports/report-releases.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import { statusOf, type StatusInput } from '../../../../src/operator/reconcile/status.ts';
import { releaseRow } from '../../../support/fake-slipway.ts';

const RELEASE_ID = HealthAnswer.example.verdicts.official.release_id ?? '';
const DAEMON = ReleaseStatusReport.schema.parse(ReleaseStatusReport.example);

function pod(name = 'a'): PodEvidence {
  const health = HealthAnswer.schema.parse(HealthAnswer.example);
  return { name, origin: 'http://a', endpoint: 'ready', health, failure: null };
}

function status(
  changes: Partial<StatusInput> & { readonly pods?: readonly PodEvidence[] } = {},
): ReleaseChannelStatus {
  const { pods = [pod()], ...rest } = changes;
  return statusOf({
    channel: {
      generation: 2,
      spec: ReleaseChannelSpecSchema.parse({
        channel: 'official',
        serverRef: { name: 's', port: 80 },
        adminTokenSecretRef: { name: 'a', key: 'k' },
      }),
    },
    findings: {
      channel: 'official',
      suspended: false,
      wanted: null,
      resting: null,
      unknownPods: null,
      pods,
      draining: [],
      stalled: null,
      waiting: null,
      crashLoop: null,
      texts: null,
    },
    daemons: [DAEMON],
    history: null,
    edges: null,
    handledRequest: null,
    previous: null,
    nowMs: 1_790_000_000_000,
    ...rest,
  });
}

describe('a status', () => {
  it('conforms to the definition, and is the same for the same evidence', () => {
    const first = status({ history: [releaseRow('official', 'r1', 'current')], handledRequest: 'now' });
    expect(ReleaseChannelStatusSchema.parse(first)).toEqual(first);
    expect(status({ history: [releaseRow('official', 'r1', 'current')], previous: first })).toEqual(first);
  });

  it('has edges only where the origin has some, compared with its release and history', () => {
    expect(status().edges).toBeUndefined();
    const edges = { count: 1, ready: 0, asked: [{ ...pod('edge-0'), health: null, failure: 'refused' }] };
    const history = [releaseRow('official', RELEASE_ID, 'current')];
    const found = status({ edges, history });
    expect(found.edges).toEqual({
      count: 1,
      ready: 0,
      atRelease: 0,
      summary: '0/1',
      slowest: { name: 'edge-0' },
    });
    expect(ReleaseChannelStatusSchema.parse(found)).toEqual(found);
  });

  it('joins the reports of pods and daemon on the same release', () => {
    expect(status().release).toMatchObject({
      id: RELEASE_ID,
      snapshotId: DAEMON.official?.snapshot_id,
      attestationVersion: 1042,
    });
  });

  it('trusts the pods where the daemon is ahead', () => {
    const ahead = {
      ...DAEMON,
      official: { ...DAEMON.official!, release_id: 'next', snapshot_id: 'blake3:1' },
    };
    expect(status({ daemons: [ahead] }).release).toEqual({
      id: RELEASE_ID,
      since: expect.any(String) as unknown,
      attestationVersion: 1042,
      attestationExpiresAt: expect.any(String) as unknown,
    });
  });

  it('keeps the last state while nobody answers, and drops a missing release', () => {
    const before = status();
    const silent: PodEvidence = {
      name: 'a',
      origin: '',
      endpoint: 'ready',
      health: null,
      failure: 'no answer',
    };
    expect(status({ previous: before, pods: [silent], daemons: [] }).release).toEqual(before.release);
    const none = { ...pod() };
    none.health!.verdicts.official = {
      distributable: false,
      reason: 'ReleaseNotAuthorized',
      message: '',
      since: 1,
      release_id: null,
    };
    expect(
      status({ previous: before, pods: [none], daemons: [{ ...DAEMON, official: null }] }).release,
    ).toBeUndefined();
  });

  it('counts a pod as serving only if the Service sends it requests', () => {
    const unready: PodEvidence = { ...pod('b'), endpoint: 'unready' };
    expect(status({ pods: [pod('a'), unready] })).toMatchObject({
      servingPods: '1/2',
      pods: [
        { name: 'a', serving: 'True' },
        { name: 'b', serving: 'False', reason: 'EndpointNotReady' },
      ],
    });
  });

  it('knows nothing about the syncs of a daemon of the previous version', () => {
    const old = { ...DAEMON, sync: undefined };
    expect(status({ daemons: [old] }).sync).toBeUndefined();
    expect(status({ daemons: [old, DAEMON] }).sync).toEqual(status({ daemons: [DAEMON] }).sync);
  });

  it('shows the syncs of the daemon with the most failures in a row, and keeps them while it is silent', () => {
    const failing = { ...DAEMON, sync: { ...DAEMON.sync, consecutive_failures: 7 } };
    const found = status({ daemons: [DAEMON, failing] });
    expect(found.sync).toEqual({
      result: 'Failed',
      finishedAt: expect.stringMatching(/Z$/) as unknown,
      reason: 'upstream_unreachable',
      message: 'upstream refused the connection; check upstream.url',
      nextAt: expect.stringMatching(/Z$/) as unknown,
      consecutiveFailures: 7,
    });
    expect(status({ daemons: [], previous: found }).sync).toEqual(found.sync);
    const none = { ...DAEMON, sync: { last: null, next_at: null, consecutive_failures: 0 } };
    expect(status({ daemons: [none], previous: found }).sync).toEqual({ consecutiveFailures: 0 });
  });

  it('shows a bounded history, and the last one if it could not be read', () => {
    const rows = Array.from({ length: 15 }, (_, index) => releaseRow('official', `r${index}`, 'superseded'));
    const long = status({ history: rows });
    expect(long.history).toHaveLength(HISTORY_MAX);
    expect(status({ history: null, previous: long }).history).toEqual(long.history);
  });
});
