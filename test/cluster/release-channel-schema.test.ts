import { describe, expect, it } from 'vitest';
import { kubeTools } from '../support/kube-tools.ts';
import { sharedOperatorWorld } from '../support/operator-world.ts';
import { sharedFixture } from '../support/shared-fixture.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;

describe.skipIf(missing)('the definition of ReleaseChannel', () => {
  const world = sharedFixture(sharedOperatorWorld);

  /** The error of the API server for a spec; empty when it accepts the spec. */
  async function refusal(spec: object, name = 'refused'): Promise<string> {
    const { status, body } = await world().apply('default', name, spec);
    return status < 300 ? '' : (body as { message: string }).message;
  }

  it.each([
    ['a channel that does not exist', { channel: 'beta' }, 'spec.channel: Unsupported value: "beta"'],
    [
      'a sync of the localized channel',
      { channel: 'localized', sync: { interval: '15m' } },
      'sync is for the official channel: a localized release is published, not fetched',
    ],
    [
      'a retention of the localized channel',
      { channel: 'localized', retention: { keep: 2 } },
      'retention counts for both channels of a server: set it on the official ReleaseChannel',
    ],
    [
      'schedules of the official channel',
      { schedules: [{ action: 'worker-run', interval: '1h' }] },
      'schedules are jobs of localization: set them on the localized ReleaseChannel',
    ],
    [
      'a schedule of a job of resources',
      { channel: 'localized', schedules: [{ action: 'sync', interval: '1h' }] },
      'spec.schedules[0].action: Unsupported value: "sync"',
    ],
    [
      'two schedules of one job',
      {
        channel: 'localized',
        schedules: [
          { action: 'backup', interval: '1h' },
          { action: 'backup', interval: '2h' },
        ],
      },
      'duplicate entries for key [action="backup"]',
    ],
    [
      'a schedule that runs all the time',
      { channel: 'localized', schedules: [{ action: 'worker-run', interval: '59s' }] },
      'must be from 1m to 8760h',
    ],
    [
      'an argument without a name',
      { channel: 'localized', schedules: [{ action: 'worker-run', args: ['fixture'], interval: '1h' }] },
      'spec.schedules[0].args[0]',
    ],
    ['an interval that is not a duration', { sync: { interval: '15 minutes' } }, 'spec.sync.interval'],
    ['an interval of nothing', { sync: { interval: '' } }, 'spec.sync.interval'],
    ['an interval that is too short', { sync: { interval: '29s' } }, 'must be from 30s to 8760h'],
    ['an interval that is too long', { verify: { interval: '8761h' } }, 'must be from 1m to 8760h'],
    ['to keep nothing', { retention: { keep: 0 } }, 'spec.retention.keep'],
    ['an invalid release id', { release: '../r1' }, 'spec.release'],
    ['a port that does not exist', { serverRef: { name: 'slipway', port: 70_000 } }, 'spec.serverRef.port'],
    [
      'a Service of another namespace',
      { serverRef: { name: 'other/slipway', port: 80 } },
      'spec.serverRef.name',
    ],
  ])('refuses %s, and says why', async (_what, spec, message) => {
    expect(await refusal(spec)).toContain(message);
  });

  it('refuses a name that is too long for the ids of schedules', async () => {
    expect(await refusal({}, 'n'.repeat(51))).toContain(
      'the name must have at most 50 characters: it becomes part of schedule ids',
    );
    expect(await refusal({}, 'n'.repeat(50))).toBe('');
  });

  it('refuses to change the identity of an object', async () => {
    expect(await refusal({}, 'fixed')).toBe('');
    const message = 'cannot be changed: create another ReleaseChannel';
    expect(await refusal({ channel: 'localized' }, 'fixed')).toContain(
      `spec.channel: Invalid value: "localized": ${message}`,
    );
    const moved = await refusal({ serverRef: { name: 'other', port: 80 } }, 'fixed');
    expect(moved).toContain(message);
    expect(moved).toContain('spec.serverRef.name');
    expect(await refusal({ serverRef: { name: 'slipway', port: 81 } }, 'fixed')).toBe('');
  });

  it('drops unknown fields, and fills in the default', async () => {
    expect(await refusal({ unknown: 1, verify: { interval: '1h30m' } }, 'filled')).toContain('unknown');
    const path = '/apis/slipway.dev/v1alpha1/namespaces/default/releasechannels';
    const { status, body } = await world().plane.request('POST', path, {
      body: {
        apiVersion: 'slipway.dev/v1alpha1',
        kind: 'ReleaseChannel',
        metadata: { name: 'filled' },
        spec: {
          channel: 'official',
          serverRef: { name: 'slipway', port: 80 },
          adminTokenSecretRef: { name: 'admin', key: 'token' },
          unknown: 1,
        },
      },
    });
    expect([status, (body as { spec: object }).spec]).toEqual([
      201,
      {
        channel: 'official',
        serverRef: { name: 'slipway', port: 80 },
        adminTokenSecretRef: { name: 'admin', key: 'token' },
        suspend: false,
      },
    ]);
  });

  it('is structural, established, and has its short name', async () => {
    const { body } = await world().plane.request(
      'GET',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/releasechannels.slipway.dev',
    );
    const { status } = body as {
      status: {
        conditions: Array<{ type: string; status: string }>;
        acceptedNames: { shortNames: string[] };
      };
    };
    expect(Object.fromEntries(status.conditions.map((each) => [each.type, each.status]))).toMatchObject({
      NamesAccepted: 'True',
      Established: 'True',
    });
    expect(status.conditions.some(({ type }) => type === 'NonStructuralSchema')).toBe(false);
    expect(status.acceptedNames.shortNames).toEqual(['relch']);
  });

  it('shows the served release, its verdict and since when, in the columns of kubectl', async () => {
    expect(await refusal({ suspend: true }, 'shown')).toBe('');
    const path = '/apis/slipway.dev/v1alpha1/namespaces/default/releasechannels/shown';
    const condition = (type: string, reason: string): object => ({
      type,
      status: 'False',
      reason,
      message: 'pod a: bytes do not match',
      lastTransitionTime: '2026-01-15T12:00:00Z',
      observedGeneration: 1,
    });
    const written = await world().plane.request('PATCH', `${path}/status`, {
      contentType: 'application/merge-patch+json',
      body: {
        status: {
          observedGeneration: 1,
          conditions: [condition('Ready', 'EntryDamaged'), condition('Healthy', 'VolumeFull')],
          release: { id: 'r1', verifiedAt: '2026-01-15T11:00:00Z' },
          sync: { result: 'Failed', consecutiveFailures: 2 },
          servingPods: '2/3',
          edges: { count: 9, ready: 8, atRelease: 7, summary: '7/9', slowest: { name: 'edge-0' } },
          pods: [],
          history: [],
        },
      },
    });
    expect(written.status).toBe(200);
    const table = (await world().plane.request('GET', path, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    })) as {
      body: {
        columnDefinitions: Array<{ name: string; priority: number }>;
        rows: Array<{ cells: unknown[] }>;
      };
    };
    const { columnDefinitions, rows } = table.body;
    const shown = columnDefinitions.filter(({ priority }) => priority === 0).map(({ name }) => name);
    expect(shown).toEqual([
      'Name',
      'Channel',
      'Release',
      'Base',
      'Pods',
      'Edges',
      'Ready',
      'Reason',
      'Health',
      'Coverage',
      'Sync',
      'Suspended',
      'Since',
    ]);
    expect(rows[0]?.cells.slice(0, 12)).toEqual([
      'shown',
      'official',
      'r1',
      null,
      '2/3',
      '7/9',
      'False',
      'EntryDamaged',
      'VolumeFull',
      null,
      'Failed',
      true,
    ]);
    expect(rows[0]?.cells[12]).toMatch(/^\d+d$|^\d+y/);
    expect(rows[0]?.cells.at(-1)).toBe('pod a: bytes do not match');
  });
});
