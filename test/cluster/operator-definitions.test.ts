import { describe, expect, it } from 'vitest';
import { buildReleaseChannelDefinition } from '../../scripts/reference/custom-resource-definition.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startFakes, startOperatorWorld } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/releasechannels.slipway.dev';

interface Status {
  properties: Record<string, unknown>;
  required: string[];
}

/** Changes the status of the definition in the cluster, from that of this version. */
type ChangeStatus = (status: Status) => void;

interface Listening {
  readonly url: string;
  readonly metrics_url: string;
}

async function read(operator: SlipwayProcess, what: 'readyz' | 'metrics'): Promise<string> {
  const line = operator.lines.find((each) => each.includes('"operator listening"')) ?? '{}';
  const { url, metrics_url: metricsUrl } = JSON.parse(line) as Listening;
  return await (await fetch(what === 'readyz' ? `${url}/readyz?verbose` : `${metricsUrl}/metrics`)).text();
}

describe.skipIf(missing)('an operator and a definition of another version', () => {
  const world = sharedFixture(startOperatorWorld);

  async function define(change: ChangeStatus): Promise<void> {
    const definition = buildReleaseChannelDefinition() as {
      spec: { versions: Array<{ schema: { openAPIV3Schema: { properties: { status: Status } } } }> };
    };
    const { spec } = structuredClone(definition);
    change(spec.versions[0]!.schema.openAPIV3Schema.properties.status);
    const found = (await world().plane.request('GET', DEFINITION)).body as { metadata: object };
    const body = { ...definition, metadata: found.metadata, spec };
    const { status, body: answer } = await world().plane.request('PUT', DEFINITION, { body });
    expect(answer).toMatchObject({ kind: 'CustomResourceDefinition' });
    expect(status).toBe(200);
  }

  it('writes what the definition takes, says what it lacks, and writes the rest once it is there', async () => {
    await define((status) => {
      delete status.properties['sync'];
      delete status.properties['observedAt'];
    });
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    const operator = await world().startOperator(namespace, { args: ['--reconcile.intervalSeconds=1'] });
    await world().apply(namespace, 'official');
    const gaps = '.status.observedAt, .status.sync:';
    const before = await world().untilCondition(namespace, 'official', 'StatusComplete', 'False');
    const condition = before.conditions.find(({ type }) => type === 'StatusComplete');
    expect(condition).toMatchObject({
      reason: 'DefinitionLacksFields',
      message: expect.stringContaining(gaps),
    });
    expect(before).not.toHaveProperty('sync');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    // The definition of before has no observedAt, and a status that does not change is not written again.
    const { resourceVersion } = (await world().get(namespace, 'official'))!.metadata;
    const reads = fake!.requests.length;
    await until(() => fake!.requests.length > reads + 12);
    expect((await world().get(namespace, 'official'))?.metadata.resourceVersion).toBe(resourceVersion);

    // What the pods serve is told nevertheless.
    fake!.setVerdict('official', 'EntryDamaged');
    const dark = await world().untilCondition(namespace, 'official', 'Ready', 'False', 'EntryDamaged');
    expect(dark.servingPods).toBe('0/1');
    expect(dark.conditions[0]?.message).toContain(gaps);
    await until(async () =>
      (await world().events(namespace)).some(({ reason }) => reason === 'DefinitionLacksFields'),
    );
    expect(JSON.parse(await read(operator, 'readyz'))).toMatchObject({
      status: 'ok',
      problems: [],
      warnings: [expect.stringContaining(gaps)],
    });
    const metric = 'slipway_operator_status_missing_fields';
    expect(await read(operator, 'metrics')).toContain(`${metric} 2`);

    await define(() => undefined);
    await world().untilCondition(namespace, 'official', 'StatusComplete', 'True', 'EveryFieldWritten');
    const whole = (await world().get(namespace, 'official'))?.status;
    expect(whole).toMatchObject({
      sync: { consecutiveFailures: 0 },
      observedAt: expect.stringMatching(/Z$/),
    });
    expect(await read(operator, 'metrics')).toContain(`${metric} 0`);
    const events = (await world().events(namespace)).map(({ reason }) => reason);
    expect(events).toContain('EveryFieldWritten');
    expect(events).not.toContain('ReconcileFailing');
  });

  it('writes the whole status when the definition has more fields', async () => {
    await define((status) => {
      status.properties['weather'] = { type: 'string' };
    });
    const namespace = await world().createNamespace();
    await world().expose(namespace, 'slipway', await startFakes(1));
    await world().startOperator(namespace);
    await world().apply(namespace, 'official');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    await world().untilCondition(namespace, 'official', 'StatusComplete', 'True');
  });

  it('says everywhere but in the status that no status can be written', async () => {
    await define((status) => {
      status.properties['weather'] = { type: 'string' };
      status.required = ['weather'];
    });
    const namespace = await world().createNamespace();
    await world().expose(namespace, 'slipway', await startFakes(1));
    const operator = await world().startOperator(namespace);
    await world().apply(namespace, 'official');
    const event = await until(async () =>
      (await world().events(namespace)).find(({ reason }) => reason === 'ReconcileFailing'),
    );
    expect(event).toMatchObject({
      type: 'Warning',
      note: expect.stringContaining('.status.weather (required)'),
    });
    const warnings = (JSON.parse(await read(operator, 'readyz')) as { warnings: string[] }).warnings;
    expect(warnings).toEqual([
      expect.stringContaining('.status.weather (required)'),
      expect.stringMatching(new RegExp(`^ReleaseChannel ${namespace}/official: [0-9]+ reconciliations`)),
    ]);
    const metric = `slipway_operator_release_channel_reconcile_failures{namespace="${namespace}",name="official"}`;
    expect(await read(operator, 'metrics')).toMatch(new RegExp(`${metric} ([3-9]|[1-9][0-9]+)\n`));
    await define(() => undefined);
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    // The operator counts a reconciliation after it has written the status.
    await until(
      async () =>
        (JSON.parse(await read(operator, 'readyz')) as { warnings: string[] }).warnings.length === 0,
    );
  });
});
