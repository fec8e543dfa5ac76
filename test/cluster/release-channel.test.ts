import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type {
  DaemonCondition,
  DaemonConditionCode,
} from '../../src/domain/service-state/daemon-conditions.ts';
import { FAKE_TOKEN, releaseRow, translationStatus, type FakeSlipway } from '../support/fake-slipway.ts';
import { startKubeControllers } from '../support/kube-controllers.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { endpointSlice, IMPATIENT, startFakes, sharedOperatorWorld } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver', 'kube-controller-manager') === null;

/** The tests wait more than they compute, so they run concurrently; each one registers its own cleanup. */
describe.skipIf(missing)('a ReleaseChannel', { concurrent: true }, () => {
  const world = sharedFixture(sharedOperatorWorld);

  interface Scene {
    readonly namespace: string;
    readonly fakes: readonly FakeSlipway[];
    readonly first: FakeSlipway;
    readonly operator: SlipwayProcess;
  }

  /** A namespace with a server of some pods, and an operator that watches it. */
  async function scene(atEnd: AtEnd, pods = 1, args: readonly string[] = []): Promise<Scene> {
    const namespace = await world().createNamespace();
    const fakes = await startFakes(pods, atEnd);
    await world().expose(namespace, 'slipway', fakes);
    const operator = await world().startOperator(namespace, { args, atEnd });
    return { namespace, fakes, first: fakes[0]!, operator };
  }

  const ids = (fake: FakeSlipway): string[] => [...fake.schedules.keys()].sort();

  it('is reconciled in each namespace of the list, and in no other', async ({ onTestFinished }) => {
    const [fake] = await startFakes(1, onTestFinished);
    const namespaces = [];
    for (let count = 0; count < 3; count += 1) {
      const namespace = await world().createNamespace();
      await world().expose(namespace, 'slipway', [fake!]);
      await world().apply(namespace, 'official');
      namespaces.push(namespace);
    }
    const [first = '', second = '', other = ''] = namespaces;
    const args = [`--watch.namespaces=${first},${second}`, '--election.namespace', first];
    await world().startOperator(first, { args, atEnd: onTestFinished });
    for (const namespace of [first, second]) {
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
      // Events of the second, too: the watches go on.
      await world().apply(namespace, 'official', { sync: { interval: '15m' } });
      await until(() => fake!.schedules.has(`relch:${namespace}:official:sync`));
    }
    expect(await world().get(other, 'official')).not.toHaveProperty('status');
  });

  it('becomes Ready, with its schedules in place, in one status patch of one owner', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'official', {
      sync: { interval: '15m' },
      verify: { interval: '1h30m' },
      retention: { keep: 3 },
    });
    const status = await world().untilCondition(namespace, 'official', 'Ready', 'True', 'Distributable');
    expect(status.conditions.map(({ type, status: value }) => [type, value])).toEqual([
      ['Ready', 'True'],
      ['Reconciling', 'False'],
      ['Stalled', 'False'],
      ['Attested', 'True'],
      ['SnapshotBound', 'True'],
      ['Represented', 'True'],
      ['Serving', 'True'],
      ['Healthy', 'True'],
      ['StatusComplete', 'True'],
    ]);
    expect(status).toMatchObject({
      observedGeneration: 1,
      servingPods: '1/1',
      release: { id: 'r1', attestationVersion: 1042 },
      pods: [{ name: 'slipway-pod-0', serving: 'True', release: 'r1' }],
      history: [{ id: 'r1', state: 'current', damaged: 0 }],
    });
    expect([...first.schedules.values()]).toMatchObject([
      { id: `relch:${namespace}:official:sync`, action: 'sync', args: [], every_seconds: 900 },
      { id: `relch:${namespace}:official:verify`, args: ['channel=official'], every_seconds: 5400 },
      { id: `relch:${namespace}:official:cleanup`, args: ['count=3'], every_seconds: 86_400 },
    ]);
    const object = await world().get(namespace, 'official');
    const owners = object?.metadata.managedFields?.filter(({ subresource }) => subresource === 'status');
    expect(owners?.map(({ manager }) => manager)).toEqual(['slipway-operator']);
    // Nothing may hold up the deletion of the object or of its namespace.
    expect(object?.metadata.finalizers).toBeUndefined();
  });

  it.for([
    ['AttestationExpired', { Attested: 'False', SnapshotBound: 'Unknown', Represented: 'Unknown' }],
    ['ReleaseNotAuthorized', { Attested: 'False', SnapshotBound: 'Unknown', Represented: 'Unknown' }],
    ['ManifestDamaged', { Attested: 'True', SnapshotBound: 'False', Represented: 'Unknown' }],
    ['EntryDamaged', { Attested: 'True', SnapshotBound: 'True', Represented: 'False' }],
  ] as const)(
    'copies %s of a verdict unchanged, at its stage, and recovers',
    async ([reason, stages], { onTestFinished }) => {
      const { namespace, first } = await scene(onTestFinished);
      first.setVerdict('official', reason);
      await world().apply(namespace, 'official');
      const status = await world().untilCondition(namespace, 'official', 'Ready', 'False', reason);
      const found = Object.fromEntries(status.conditions.map((each) => [each.type, each.status]));
      expect(found).toMatchObject({ ...stages, Serving: 'False', Stalled: 'False', Reconciling: 'True' });
      expect(status.pods).toMatchObject([
        { serving: 'False', reason, message: expect.stringContaining(`because of ${reason}`) },
      ]);
      first.setVerdict('official', null);
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
    },
  );

  it('says which release each pod serves, and is Ready only when all serve the same', async ({
    onTestFinished,
  }) => {
    const { namespace, fakes } = await scene(onTestFinished, 3, IMPATIENT);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    fakes[1]!.setVerdict('official', null, 'r2');
    await world().untilCondition(namespace, 'official', 'Ready', 'False', 'PodsDiffer');
    fakes[1]!.setVerdict('official', 'EntryMissing');
    await world().untilCondition(namespace, 'official', 'Ready', 'False', 'EntryMissing');
    // On a busy machine another pod may be silent for a moment.
    await world().untilStatus(namespace, 'official', {
      servingPods: '2/3',
      pods: [
        { name: 'slipway-pod-0', serving: 'True' },
        { name: 'slipway-pod-1', serving: 'False' },
        { name: 'slipway-pod-2', serving: 'True' },
      ],
    });
    await world().untilCondition(namespace, 'official', 'Serving', 'True');
    fakes[1]!.setVerdict('official', null);
    fakes[2]!.close();
    await world().untilStatus(namespace, 'official', {
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodUnreachable' }),
      ]),
      pods: [{ serving: 'True' }, { serving: 'True' }, { name: 'slipway-pod-2', serving: 'Unknown' }],
    });
  });

  it('does not trust old evidence: without an answer everything becomes Unknown', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished, 1, IMPATIENT);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    first.setSilent(true);
    const status = await world().untilCondition(namespace, 'official', 'Ready', 'Unknown', 'PodUnreachable');
    const unknown = status.conditions.filter((each) => each.status === 'Unknown').map(({ type }) => type);
    expect(unknown).toEqual(['Ready', 'Attested', 'SnapshotBound', 'Represented', 'Serving', 'Healthy']);
    expect(status.release).toMatchObject({ id: 'r1' });
    first.setSilent(false);
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
  });

  it('follows the pods of its Service', async ({ onTestFinished }) => {
    const { namespace } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
    await world().plane.request('DELETE', `${slices}/slipway-0`);
    const none = await world().untilCondition(namespace, 'official', 'Ready', 'False', 'NoPods');
    expect(none.servingPods).toBe('0/0');
    const [other] = await startFakes(1, onTestFinished);
    await world().plane.request('POST', slices, {
      body: endpointSlice(namespace, 'slipway', 7, other!.port),
    });
    const status = await world().untilCondition(namespace, 'official', 'Ready', 'True');
    expect(status.pods.map(({ name }) => name)).toEqual(['slipway-pod-7']);
  });

  it('says what a client of the Service gets, although every pod calls itself sound', async ({
    onTestFinished,
  }) => {
    const { namespace } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/slipway-0`;
    const setConditions = async (conditions: object): Promise<void> => {
      const { body } = await world().plane.request('GET', path);
      const { endpoints } = body as { endpoints: object[] };
      const { status } = await world().plane.request('PATCH', path, {
        contentType: 'application/merge-patch+json',
        body: { endpoints: endpoints.map((each) => ({ ...each, conditions })) },
      });
      expect(status).toBe(200);
    };
    await setConditions({ ready: false, serving: false, terminating: false });
    const dark = await world().untilCondition(namespace, 'official', 'Serving', 'False', 'EndpointNotReady');
    expect(dark).toMatchObject({
      servingPods: '0/1',
      pods: [{ name: 'slipway-pod-0', serving: 'False', reason: 'EndpointNotReady', release: 'r1' }],
    });
    await world().untilCondition(namespace, 'official', 'Ready', 'False', 'EndpointNotReady');
    await setConditions({ ready: true, serving: true, terminating: false });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    // A Service that publishes unready addresses calls them ready.
    await setConditions({ ready: true, serving: false, terminating: false });
    await world().untilCondition(namespace, 'official', 'Serving', 'False', 'EndpointNotReady');
    await setConditions({ ready: false, serving: true, terminating: true });
    await world().untilCondition(namespace, 'official', 'Serving', 'True');
    await world().untilCondition(namespace, 'official', 'Ready', 'False', 'NoPods');
    await setConditions({ ready: true, serving: true, terminating: false });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
  });

  it('never reports a Service without pods while its pods change', async ({ onTestFinished }) => {
    const { namespace, operator } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/slipway-0`;
    for (let change = 0; change < 10; change += 1) {
      await world().plane.request('PATCH', path, {
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations: { change: String(change) } } },
      });
    }
    await world().apply(namespace, 'official', { sync: { interval: '1h' } });
    await until(async () => (await world().get(namespace, 'official'))?.status?.observedGeneration === 2);
    // Its last lines are read when it has ended.
    await operator.stop();
    const changes = operator.lines.filter((line) => line.includes('readiness changed'));
    expect(changes.map((line) => (JSON.parse(line) as { reason: string }).reason)).toEqual(['Distributable']);
  });

  it('stalls with the reason, without a hot loop, and recovers when the cause is fixed', async ({
    onTestFinished,
  }) => {
    const { namespace, first, operator } = await scene(onTestFinished);
    const secrets = `/api/v1/namespaces/${namespace}/secrets`;
    await world().apply(namespace, 'official', { serverRef: { name: 'slipway', port: 81 } });
    await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'PortNotFound');
    await world().apply(namespace, 'other', { serverRef: { name: 'nothing', port: 80 } });
    const other = await world().untilCondition(namespace, 'other', 'Stalled', 'True', 'ServiceNotFound');
    expect(other.conditions.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'False' });
    expect(other.conditions.find(({ type }) => type === 'Reconciling')).toMatchObject({ status: 'False' });

    await world().apply(namespace, 'official', { adminTokenSecretRef: { name: 'admin', key: 'nothing' } });
    await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'TokenSecretNotFound');
    await world().plane.request('PATCH', `${secrets}/admin`, {
      contentType: 'application/merge-patch+json',
      body: { stringData: { nothing: 'two\nlines' } },
    });
    const malformed = await world().untilCondition(
      namespace,
      'official',
      'Stalled',
      'True',
      'TokenMalformed',
    );
    expect(malformed.conditions[0]?.message).toBe(
      'Secret "admin" holds no usable token under the key "nothing": it must be one line of letters, digits and -._~+/=',
    );
    await world().plane.request('PATCH', `${secrets}/admin`, {
      contentType: 'application/merge-patch+json',
      body: { stringData: { nothing: 'wrong' } },
    });
    const wrong = await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'TokenRejected');
    expect(wrong.conditions.find(({ type }) => type === 'Serving')).toMatchObject({ status: 'True' });
    const before = first.requests.length;
    await until(() => first.requests.length > before);
    const [begin, count] = [performance.now(), first.requests.length];
    await until(() => first.requests.length > count + 6);
    // Two checks a second make two requests each; a hot loop makes thousands.
    expect(performance.now() - begin).toBeGreaterThan(1_000);
    await world().plane.request('PATCH', `${secrets}/admin`, {
      contentType: 'application/merge-patch+json',
      body: { stringData: { nothing: FAKE_TOKEN } },
    });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');

    first.refuse({ status: 403, code: 'control_forbidden' }, 'schedule-add');
    await world().apply(namespace, 'official', { sync: { interval: '10m' } });
    await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'ControlNotExposed');
    const refused = { status: 422, code: 'upstream_not_configured' };
    first.refuse({ status: 502, code: 'daemon_rejected', daemon: refused }, 'schedule-add');
    const rejected = await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'ActionRejected');
    expect(rejected.conditions[0]?.message).toContain('upstream_not_configured');
    first.refuse(null, 'schedule-add');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    await operator.stop();
    const written = operator.lines.join('\n');
    expect(written).toContain('readiness changed');
    expect(written).not.toContain(FAKE_TOKEN);
    expect(written).not.toContain(world().operatorToken);
  });

  it('stalls behind an older object for the same channel of the same server, and takes over from it', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    const spec = (interval: string): object => ({ sync: { interval } });
    await world().apply(namespace, 'zz-older', spec('10m'));
    const { metadata } = (await world().get(namespace, 'zz-older'))!;
    // Creation times are whole seconds, and a tie would be decided by name.
    await until(() => Date.now() - Date.parse(metadata.creationTimestamp) >= 1_000);
    await world().apply(namespace, 'younger', spec('20m'));
    const status = await world().untilCondition(namespace, 'younger', 'Stalled', 'True', 'ChannelTaken');
    expect(status.conditions.find(({ type }) => type === 'Stalled')?.message).toContain('"zz-older"');
    await world().untilCondition(namespace, 'younger', 'Ready', 'False', 'ChannelTaken');
    await world().untilCondition(namespace, 'younger', 'Serving', 'True');
    await world().untilCondition(namespace, 'zz-older', 'Ready', 'True');
    expect(ids(first)).toEqual([`relch:${namespace}:zz-older:sync`]);
    await world().apply(namespace, 'other-channel', { channel: 'localized' });
    await world().untilCondition(namespace, 'other-channel', 'Stalled', 'False');

    await world().remove(namespace, 'zz-older');
    await world().untilCondition(namespace, 'younger', 'Ready', 'True');
    await until(() => ids(first).join() === `relch:${namespace}:younger:sync`);
  });

  it('for a localized channel without any release is neither a failure nor Ready', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'localized', { channel: 'localized' });
    const status = await world().untilCondition(
      namespace,
      'localized',
      'Ready',
      'Unknown',
      'NothingPublished',
    );
    expect(status.conditions.map(({ type, status: value, reason }) => [type, value, reason])).toEqual([
      ['Ready', 'Unknown', 'NothingPublished'],
      ['Reconciling', 'False', 'NothingPublished'],
      ['Stalled', 'False', 'NotStalled'],
      ['Attested', 'Unknown', 'NothingPublished'],
      ['SnapshotBound', 'Unknown', 'NothingPublished'],
      ['Represented', 'Unknown', 'NothingPublished'],
      ['Serving', 'Unknown', 'NothingPublished'],
      ['Healthy', 'Unknown', 'NothingPublished'],
      ['StatusComplete', 'True', 'EveryFieldWritten'],
      ['BaseCurrent', 'Unknown', 'NothingPublished'],
      ['Translated', 'True', 'Complete'],
      ['Publishable', 'True', 'NothingBlocks'],
    ]);
    // An event is recorded after its status.
    const events = await until(async () => {
      const found = await world().events(namespace);
      return found.length > 0 ? found : null;
    });
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Normal NothingPublished']);
    first.current.localized = 'l1';
    first.setVerdict('localized', null);
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    const warnings = (await world().events(namespace)).filter(({ type }) => type === 'Warning');
    expect(warnings).toEqual([]);
  });

  it('for a localized channel that a rollback has withdrawn rests without a warning, and publishes when it is resumed', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    const told = (code: DaemonConditionCode): DaemonCondition => ({
      code,
      message: `told: ${code}`,
      since: 1,
      next_try: null,
    });
    first.current.localized = 'l1';
    first.setVerdict('localized', null);
    await world().apply(namespace, 'localized', { channel: 'localized' });
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    // A new official release, whose localized one is being made.
    first.conditions = [told('localized_following'), told('localized_stale')];
    first.setVerdict('localized', 'BaseReleaseChanged');
    await world().untilCondition(namespace, 'localized', 'Ready', 'False', 'LocalizedFollowing');
    first.current.localized = null;
    first.conditions = [told('localized_withdrawn')];
    first.translation = translationStatus({ base: null, blockers: [['release_rolled_back', 1]] });
    first.setVerdict('localized', 'ReleaseNotAuthorized');
    const status = await world().untilCondition(
      namespace,
      'localized',
      'Ready',
      'Unknown',
      'ReleaseWithdrawn',
    );
    expect(status.conditions.map(({ type, status: value, reason }) => [type, value, reason])).toEqual([
      ['Ready', 'Unknown', 'ReleaseWithdrawn'],
      ['Reconciling', 'False', 'ReleaseWithdrawn'],
      ['Stalled', 'False', 'NotStalled'],
      ['Attested', 'Unknown', 'ReleaseWithdrawn'],
      ['SnapshotBound', 'Unknown', 'ReleaseWithdrawn'],
      ['Represented', 'Unknown', 'ReleaseWithdrawn'],
      ['Serving', 'Unknown', 'ReleaseWithdrawn'],
      ['Healthy', 'Unknown', 'ReleaseWithdrawn'],
      ['StatusComplete', 'True', 'EveryFieldWritten'],
      ['BaseCurrent', 'Unknown', 'NothingPublished'],
      ['Translated', 'True', 'Complete'],
      ['Publishable', 'False', 'PublishBlocked'],
    ]);
    // An event is recorded after its status.
    const recorded = await until(async () => {
      const events = await world().events(namespace);
      return events.some(({ reason }) => reason === 'ReleaseWithdrawn') ? events : null;
    });
    expect(recorded.map(({ type, reason }) => `${type} ${reason}`).sort()).toEqual([
      'Normal Distributable',
      'Normal LocalizedFollowing',
      'Normal ReleaseWithdrawn',
    ]);

    // Only a person resumes the channel, so no publication is tried for a pin.
    await world().apply(namespace, 'localized', { channel: 'localized', release: 'l2' });
    await world().untilCondition(namespace, 'localized', 'Stalled', 'True', 'ReleaseRolledBack');
    expect(first.actions).toEqual([]);
    first.translation = translationStatus({ base: null });
    first.conditions = undefined;
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    expect(first.actions).toMatchObject([
      { action: 'localized-publish', body: { localized_release_id: 'l2' } },
    ]);
  });

  it('for a localized channel shows its base, coverage, staleness and blockers, in conditions and columns', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    first.current.localized = 'l1';
    first.setVerdict('localized', null);
    first.translation = translationStatus({
      blockers: [
        ['qa_blocked', 1],
        ['untranslated', 4],
      ],
    });
    await world().apply(namespace, 'localized', { channel: 'localized' });
    const cells = async (): Promise<Record<string, unknown>> => {
      const path = `/apis/slipway.dev/v1alpha1/namespaces/${namespace}/releasechannels/localized`;
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { columnDefinitions, rows } = (await world().plane.request('GET', path, { accept })).body as {
        columnDefinitions: Array<{ name: string }>;
        rows: Array<{ cells: unknown[] }>;
      };
      return Object.fromEntries(columnDefinitions.map(({ name }, at) => [name, rows[0]?.cells[at]]));
    };
    const status = await world().untilCondition(namespace, 'localized', 'Ready', 'True', 'Distributable');
    expect(
      status.conditions.slice(-3).map(({ type, status: value, reason }) => [type, value, reason]),
    ).toEqual([
      ['BaseCurrent', 'True', 'BaseCurrent'],
      ['Translated', 'False', 'Incomplete'],
      ['Publishable', 'False', 'PublishBlocked'],
    ]);
    expect(await cells()).toMatchObject({
      Release: 'l1',
      Base: 'r1',
      Coverage: '75%',
      Ready: 'True',
      Health: 'Healthy',
      Stale: false,
      Publishable: 'False',
      Follows: 'off',
    });

    // The channel is still served, so it stays Ready; the state says what needs attention.
    const message = 'the snapshot volume has too little free space';
    first.conditions = [{ code: 'volume_full', message, since: 1_800_000_000, next_try: null }];
    await world().untilCondition(namespace, 'localized', 'Healthy', 'False', 'VolumeFull');
    expect(await cells()).toMatchObject({
      Ready: 'True',
      Reason: 'Distributable',
      Health: 'VolumeFull',
      Healthy: 'False',
      'Next-Step': expect.stringMatching(/too little free space.*Run release-cleanup/u) as string,
    });
    first.conditions = undefined;

    first.current.official = 'r2';
    first.setVerdict('official', null);
    first.setVerdict('localized', 'BaseReleaseChanged');
    first.translation = translationStatus({ stale: true });
    await world().untilCondition(namespace, 'localized', 'BaseCurrent', 'False', 'BaseReleaseChanged');
    await world().untilCondition(namespace, 'localized', 'Ready', 'False', 'BaseReleaseChanged');
    expect(await cells()).toMatchObject({ Base: 'r1', Coverage: '100%', Stale: true, Publishable: 'True' });

    // Nothing else depends on it that the translations can be read.
    first.failRead('/admin/translation/status', { status: 503, code: 'backend_unavailable' });
    await world().untilCondition(namespace, 'localized', 'Translated', 'Unknown', 'AdminUnavailable');
    await world().untilCondition(namespace, 'localized', 'Stalled', 'False');
    expect(await cells()).toMatchObject({ Base: 'r1', Coverage: '100%' });
  });

  it('for a localized channel runs its jobs on every pod, and none that publishes while a release is pinned', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    const schedules = [
      { action: 'worker-run', args: ['provider=fixture'], interval: '1h' },
      { action: 'localized-publish', args: ['from_worker=true'], interval: '24h' },
    ];
    first.current.localized = 'l1';
    first.setVerdict('localized', null);
    await world().apply(namespace, 'localized', { channel: 'localized', schedules });
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    const [worker, publish] = ['worker-run', 'localized-publish'].map(
      (action) => `relch:${namespace}:localized:${action}`,
    ) as [string, string];
    expect(first.schedules.get(worker)).toMatchObject({
      group: 'i18n',
      action: 'worker-run',
      args: ['provider=fixture'],
      every_seconds: 3600,
      enabled: true,
    });
    expect(first.schedules.get(publish)).toMatchObject({ every_seconds: 86_400, enabled: true });
    await world().apply(namespace, 'localized', { channel: 'localized', schedules, release: 'l1' });
    await until(() => first.schedules.get(publish)?.enabled === false);
    expect(first.schedules.get(worker)?.enabled).toBe(true);
    await world().apply(namespace, 'localized', { channel: 'localized', schedules: schedules.slice(0, 1) });
    await until(() => ids(first).join() === worker);
    await world().remove(namespace, 'localized');
    await until(() => ids(first).length === 0);
    expect(first.actions.filter(({ action }) => action === 'schedule-remove')).toHaveLength(2);
  });

  it('shows how syncs go, and records an event and counts it when they begin to fail', async ({
    onTestFinished,
  }) => {
    const { namespace, first, operator } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const at = 1_780_000_000;
    const last = { task_id: '01KAJ2X6V5Q0E8T9R3W7Y1Z4BC', result: null, code: null, message: null };
    const failed = (count: number): FakeSlipway['sync'] => ({
      last: {
        ...last,
        status: 'failed',
        code: 'upstream_unreachable',
        message: 'no route to host',
        finished_at: at + count,
      },
      next_at: at + 300,
      consecutive_failures: count,
    });
    const shown = async (expected: object): Promise<void> => {
      await until(async () => {
        const sync = (await world().get(namespace, 'official'))?.status?.sync;
        return isDeepStrictEqual(sync, expected);
      });
    };
    const failure = {
      result: 'Failed',
      finishedAt: '2026-05-28T20:26:41Z',
      reason: 'upstream_unreachable',
      message: 'no route to host',
      nextAt: '2026-05-28T20:31:40Z',
      consecutiveFailures: 1,
    };
    first.sync = failed(1);
    await shown(failure);
    const listening = JSON.parse(
      operator.lines.find((line) => line.includes('"operator listening"')) ?? '{}',
    ) as { metrics_url: string };
    await until(async () => {
      const metrics = await (await fetch(`${listening.metrics_url}/metrics`)).text();
      return (
        metrics.includes('slipway_operator_release_channel_syncs{result="Failed"} 1\n') &&
        metrics.includes('slipway_operator_sync_consecutive_failures 1\n')
      );
    });
    // The same failure again is no other event.
    first.sync = failed(2);
    await shown({ ...failure, finishedAt: '2026-05-28T20:26:42Z', consecutiveFailures: 2 });
    first.sync = {
      last: { ...last, status: 'succeeded', result: 'unchanged', finished_at: at + 9 },
      next_at: null,
      consecutive_failures: 0,
    };
    await shown({ result: 'Unchanged', finishedAt: '2026-05-28T20:26:49Z', consecutiveFailures: 0 });
    await until(async () => {
      const events = (await world().events(namespace)).filter(({ reason }) => reason.startsWith('Sync'));
      return isDeepStrictEqual(events.map(({ type, reason, note }) => `${type} ${reason} ${note}`).sort(), [
        'Normal SyncSucceeded upstream was synced again',
        'Warning SyncFailed upstream_unreachable: no route to host; the next one starts at 2026-05-28T20:31:40Z',
      ]);
    });
  });

  it('stays Ready while only the daemon is silent', async ({ onTestFinished }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    first.refuse({ status: 503, code: 'backend_unavailable' });
    const status = await world().untilCondition(
      namespace,
      'official',
      'Reconciling',
      'True',
      'AdminUnavailable',
    );
    expect(status.conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
    first.refuse(null);
    await world().untilCondition(namespace, 'official', 'Reconciling', 'False', 'UpToDate');
  });

  it('stays Ready while a daemon is in a crash loop, and names it, also between its lives', async ({
    onTestFinished,
  }) => {
    const { namespace, fakes } = await scene(onTestFinished, 2);
    const second = fakes[1]!;
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Reconciling', 'False', 'UpToDate');
    second.crashLoop = 'crash loop: the daemon ended unexpectedly 5 times';
    const looping = await world().untilCondition(
      namespace,
      'official',
      'Reconciling',
      'True',
      'DaemonCrashLoop',
    );
    const named = {
      type: 'Reconciling',
      reason: 'DaemonCrashLoop',
      message: `pod slipway-pod-1: ${second.crashLoop}`,
    };
    expect(looping.conditions).toContainEqual(expect.objectContaining(named));
    expect(looping.conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
    second.refuse({ status: 503, code: 'backend_unavailable' });
    const asked = second.requests.length;
    await until(() => second.requests.length > asked + 8);
    const between = (await world().get(namespace, 'official'))?.status;
    expect(between?.conditions).toContainEqual(expect.objectContaining(named));
    second.crashLoop = null;
    second.refuse(null);
    await world().untilCondition(namespace, 'official', 'Reconciling', 'False', 'UpToDate');
  });

  it('keeps its schedules equal to the spec, despite changes by others, and leaves other schedules alone', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'official', {
      sync: { interval: '15m' },
      verify: { interval: '24h' },
    });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const sync = `relch:${namespace}:official:sync`;
    first.schedules.set('mine', { ...first.schedules.get(sync)!, id: 'mine' });
    first.schedules.delete(sync);
    await until(() => first.schedules.has(sync));
    first.schedules.set(sync, { ...first.schedules.get(sync)!, every_seconds: 5, enabled: false });
    await until(() => first.schedules.get(sync)?.every_seconds === 900);
    expect(first.actions.at(-1)).toMatchObject({
      action: 'schedule-update',
      body: { id: sync, every_seconds: 900, enabled: true },
    });
    await world().apply(namespace, 'official', { sync: { interval: '20m' } });
    await until(() => first.schedules.get(sync)?.every_seconds === 1200);
    await until(() => ids(first).join() === ['mine', sync].join());
  });

  it('that is suspended keeps its schedules disabled and still reports', async ({ onTestFinished }) => {
    const { namespace, first } = await scene(onTestFinished);
    const sync = `relch:${namespace}:official:sync`;
    await world().apply(namespace, 'official', { sync: { interval: '15m' }, suspend: true });
    const status = await world().untilCondition(namespace, 'official', 'Reconciling', 'False', 'Suspended');
    expect(status.conditions[0]).toMatchObject({ type: 'Ready', status: 'True' });
    expect(first.schedules.get(sync)?.enabled).toBe(false);
    await world().apply(namespace, 'official', { sync: { interval: '15m' }, suspend: false });
    await until(() => first.schedules.get(sync)?.enabled);
  });

  it('publishes, rolls back, waits and stalls for a pinned localized release', async ({ onTestFinished }) => {
    const { namespace, first } = await scene(onTestFinished);
    first.taskStatus = 'queued';
    const pin = { channel: 'localized', release: 'l1' };
    await world().apply(namespace, 'localized', pin);
    await world().untilCondition(namespace, 'localized', 'Reconciling', 'True', 'ReleaseChanging');
    first.taskStatus = 'succeeded';
    first.current.localized = 'l1';
    first.setVerdict('localized', null);
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    expect(first.actions).toMatchObject([
      { action: 'localized-publish', body: { from_worker: true, localized_release_id: 'l1' } },
    ]);

    first.history.push(releaseRow('localized', 'l0', 'superseded'));
    await world().apply(namespace, 'localized', { ...pin, release: 'l0' });
    await until(async () => first.current.localized === 'l0');
    expect(first.actions.at(-1)).toMatchObject({
      action: 'localized-rollback',
      body: { localized_release_id: 'l0' },
    });

    first.refuse({ status: 501, code: 'not_implemented' }, 'localized-publish');
    await world().apply(namespace, 'localized', { ...pin, release: 'l9' });
    await world().untilCondition(namespace, 'localized', 'Stalled', 'True', 'ActionRejected');
    first.refuse(null, 'localized-publish');
    first.taskStatus = 'failed';
    first.failure = { code: 'qa_blocked', reason: '3 units have blocking findings' };
    const failed = await world().untilCondition(namespace, 'localized', 'Stalled', 'True', 'TaskFailed');
    expect(failed.conditions.find(({ type }) => type === 'Stalled')?.message).toContain(
      'qa_blocked: 3 units have blocking findings',
    );

    // A new value of the annotation tries the same pin again.
    first.taskStatus = 'succeeded';
    const attempts = first.actions.length;
    await world().apply(
      namespace,
      'localized',
      { ...pin, release: 'l9' },
      { 'slipway.dev/requestedAt': 'again' },
    );
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    expect(first.actions.slice(attempts)).toMatchObject([
      { action: 'localized-publish', body: { localized_release_id: 'l9' } },
    ]);
  });

  it('waits with a pinned localized release for its texts, and stalls when the official one has moved on', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    first.translation = translationStatus({ base: null, blockers: [['tasks_not_built', 1]] });
    await world().apply(namespace, 'localized', { channel: 'localized', release: 'l1' });
    await world().untilCondition(namespace, 'localized', 'Reconciling', 'True', 'TextsNotReady');
    expect(first.actions).toEqual([]);
    first.translation = translationStatus({ base: null });
    await world().untilCondition(namespace, 'localized', 'Ready', 'True');
    expect(first.actions).toMatchObject([{ action: 'localized-publish' }]);
    first.current.official = 'r2';
    first.setVerdict('localized', 'BaseReleaseChanged');
    await world().untilCondition(namespace, 'localized', 'Stalled', 'True', 'PinOutdated');
    expect(first.actions).toHaveLength(1);
  });

  it('holds syncs back while a pinned official release is current, and stalls for others', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    const sync = `relch:${namespace}:official:sync`;
    await world().apply(namespace, 'official', { sync: { interval: '15m' }, release: 'r9' });
    await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'ReleaseUnknown');
    expect(first.schedules.get(sync)?.enabled).toBe(true);
    await world().apply(namespace, 'official', { sync: { interval: '15m' }, release: 'r1' });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    expect(first.schedules.get(sync)?.enabled).toBe(false);
    first.history.push(releaseRow('official', 'r0', 'superseded'));
    await world().apply(namespace, 'official', { sync: { interval: '15m' }, release: 'r0' });
    await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'PinNotSupported');
    expect(first.schedules.get(sync)?.enabled).toBe(false);
  });

  it('is reconciled, and synced once, when the annotation requests it', async ({ onTestFinished }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const handled = async (value: string): Promise<void> => {
      await world().apply(namespace, 'official', {}, { 'slipway.dev/requestedAt': value });
      await until(
        async () => (await world().get(namespace, 'official'))?.status?.lastHandledReconcileAt === value,
      );
    };
    await handled('first');
    await handled('second');
    expect(first.actions.map(({ action }) => action)).toEqual(['sync', 'sync']);
    expect(new Set(first.actions.map(({ key }) => key)).size).toBe(2);
  });

  it('handles a request when its task has ended and the pods serve its result', async ({
    onTestFinished,
  }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    first.taskStatus = 'running';
    await world().apply(namespace, 'official', {}, { 'slipway.dev/requestedAt': 'now' });
    const running = await world().untilCondition(
      namespace,
      'official',
      'Reconciling',
      'True',
      'RequestInProgress',
    );
    expect(running).not.toHaveProperty('lastHandledReconcileAt');
    // The daemon has the release first, and its server follows.
    first.current.official = 'r2';
    first.history.unshift(releaseRow('official', 'r2', 'current'));
    first.taskStatus = 'succeeded';
    await until(async () => {
      const found = (await world().get(namespace, 'official'))?.status;
      return found?.conditions.some(({ message }) => message.includes('does not serve the current official'));
    });
    expect((await world().get(namespace, 'official'))?.status).not.toHaveProperty('lastHandledReconcileAt');
    first.setVerdict('official', null);
    await world().untilStatus(namespace, 'official', { lastHandledReconcileAt: 'now' });
    expect((await world().get(namespace, 'official'))?.status).toMatchObject({
      lastHandledReconcileAt: 'now',
      release: { id: 'r2' },
      history: [{ id: 'r2' }, { id: 'r1' }],
      pods: [{ release: 'r2' }],
    });
    await world().untilCondition(namespace, 'official', 'Reconciling', 'False', 'UpToDate');
    // The task is followed, and not posted again.
    expect(first.requests.filter((each) => each === 'POST /admin/control/sync')).toHaveLength(1);
  });

  it('takes its status back from another field manager', async ({ onTestFinished }) => {
    const { namespace } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const path = `/apis/slipway.dev/v1alpha1/namespaces/${namespace}/releasechannels/official/status`;
    const { status } = await world().plane.request('PATCH', `${path}?fieldManager=thief&force=true`, {
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'slipway.dev/v1alpha1',
        kind: 'ReleaseChannel',
        metadata: { name: 'official', namespace },
        status: { servingPods: '9/9' },
      },
    });
    expect(status).toBe(200);
    await until(async () => (await world().get(namespace, 'official'))?.status?.servingPods === '1/1');
  });

  it('reports a change exactly once', async ({ onTestFinished }) => {
    const { namespace, first } = await scene(onTestFinished);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    first.setVerdict('official', 'EntryDamaged');
    await world().untilCondition(namespace, 'official', 'Ready', 'False');
    const before = await world().get(namespace, 'official');
    const looks = first.requests.length;
    await until(() => first.requests.length > looks + 12);
    const after = await world().get(namespace, 'official');
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    const events = await world().events(namespace);
    expect(events.map(({ reason, type }) => `${type} ${reason}`).sort()).toEqual([
      'Normal Distributable',
      'Warning EntryDamaged',
    ]);
  });

  describe('that is deleted', () => {
    it('deletes its schedules too', async ({ onTestFinished }) => {
      const { namespace, first } = await scene(onTestFinished);
      await world().apply(namespace, 'official', { sync: { interval: '15m' }, verify: { interval: '24h' } });
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
      await world().remove(namespace, 'official');
      await until(async () => (await world().get(namespace, 'official')) === null);
      await until(() => ids(first).length === 0);
    });

    it('is removed immediately when its Service is gone', async ({ onTestFinished }) => {
      const { namespace } = await scene(onTestFinished);
      await world().apply(namespace, 'official', { sync: { interval: '15m' } });
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
      await world().plane.request('DELETE', `/api/v1/namespaces/${namespace}/services/slipway`);
      await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'ServiceNotFound');
      await world().remove(namespace, 'official');
      await until(async () => (await world().get(namespace, 'official')) === null);
    });

    it('is removed immediately when its server does not answer, and names the schedules that are left there later', async ({
      onTestFinished,
    }) => {
      const namespace = await world().createNamespace();
      const [fake] = await startFakes(1, onTestFinished);
      await world().expose(namespace, 'slipway', [fake!]);
      await world().startOperator(namespace, {
        args: ['--reconcile.finalizeSeconds=2'],
        atEnd: onTestFinished,
      });
      await world().apply(namespace, 'official', { sync: { interval: '15m' } });
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
      fake!.close();
      await world().remove(namespace, 'official');
      expect(await world().get(namespace, 'official')).toBeNull();
      const left = await until(async () => {
        const events = await world().events(namespace);
        return events.find(({ reason }) => reason === 'SchedulesLeft') ?? null;
      });
      expect(left.note).toContain(`relch:${namespace}:official:sync`);
    });

    it('with its whole namespace is gone, although no operator runs and its permissions are deleted', async ({
      onTestFinished,
    }) => {
      const { namespace, operator, first } = await scene(onTestFinished);
      await world().apply(namespace, 'official', { sync: { interval: '15m' } });
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
      await operator.kill();
      first.close();
      startKubeControllers(world().plane, ['namespace-controller'], onTestFinished);
      const path = `/api/v1/namespaces/${namespace}`;
      await world().plane.request('DELETE', path);
      await until(async () => (await world().plane.request('GET', path)).status === 404);
    });

    it('while no operator runs loses its schedules when another object of its server is reconciled', async ({
      onTestFinished,
    }) => {
      const { namespace, first } = await scene(onTestFinished);
      await world().apply(namespace, 'official', { sync: { interval: '15m' } });
      await world().untilCondition(namespace, 'official', 'Ready', 'True');
      const own = `relch:${namespace}:official:sync`;
      const others = ['mine', 'relch:elsewhere:gone:sync', `relch:${namespace}:gone:other`];
      for (const id of [...others, `relch:${namespace}:gone:sync`]) {
        first.schedules.set(id, { ...first.schedules.get(own)!, id });
      }
      await until(() => ids(first).join() === [...others, own].sort().join());
    });
  });
});
