import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startApiProxy, statusObject, type ApiProxy } from '../support/api-proxy.ts';
import type { FakeSlipway } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { startFakes, startOperatorWorld } from '../support/operator-world.ts';
import type { SlipwayProcess } from '../support/process.ts';
import { installDefinition } from '../support/operator-plane.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;
/** Such a long interval that only a watch can bring changes in time. */
const SELDOM = '--reconcile.intervalSeconds=3600';
const CHANNELS = 'releasechannels';

describe.skipIf(missing)('an operator whose API server', () => {
  const world = sharedFixture(startOperatorWorld);

  interface Scene {
    readonly namespace: string;
    readonly fake: FakeSlipway;
    readonly proxy: ApiProxy;
    readonly operator: SlipwayProcess;
  }

  /** A Ready channel, an operator behind a proxy, and watches that deliver all changes. */
  async function scene(args: readonly string[] = []): Promise<Scene> {
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    await world().apply(namespace, 'official', { sync: { interval: '1h' } });
    const proxy = await startApiProxy(world().plane);
    const operator = await world().startOperator(namespace, { server: proxy.url, args: [SELDOM, ...args] });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    await until(() => proxy.openWatches === 3);
    return { namespace, fake: fake!, proxy, operator };
  }

  const lists = (proxy: ApiProxy, kind: string): number =>
    proxy.passed.filter(
      ({ method, path, isWatch }) => method === 'GET' && !isWatch && path.endsWith(`/${kind}`),
    ).length;

  /** Changes the spec and waits until the operator has acted on it. */
  async function seesChange({ namespace, fake }: Scene, seconds: number): Promise<void> {
    await world().apply(namespace, 'official', { sync: { interval: `${seconds}s` } });
    const id = `relch:${namespace}:official:sync`;
    await until(() => Number(fake.schedules.get(id)?.every_seconds) === seconds);
  }

  /** The API server learns of a changed Role a moment after it has stored it. */
  async function untilForbidden(path: string): Promise<void> {
    const { plane, operatorToken: token } = world();
    await until(async () => (await plane.request('GET', path, { token })).status === 403);
  }

  it('drops the watches is watched again from the same version, without a list', async () => {
    const all = await scene();
    const before = lists(all.proxy, CHANNELS);
    all.proxy.cutWatches();
    await seesChange(all, 61);
    expect(lists(all.proxy, CHANNELS)).toBe(before);
  });

  it('falls silent on open watches is listed again', async () => {
    const all = await scene(['--watch.silentSeconds=2']);
    all.proxy.freezeWatches();
    await seesChange(all, 62);
    await until(() => all.operator.lines.join('\n').includes('a watch is silent; listing again'));
  });

  it.each([
    ['as an answer', 410],
    ['as an event', 200],
  ])('says 410 %s is listed again', async (_form, status) => {
    const all = await scene();
    const before = lists(all.proxy, CHANNELS);
    let once = true;
    all.proxy.setFault(({ isWatch, path }) => {
      if (!once || !isWatch || !path.endsWith(CHANNELS)) return null;
      once = false;
      const gone = statusObject(410, 'Expired');
      return { status, body: status === 200 ? { type: 'ERROR', object: gone } : gone };
    });
    all.proxy.cutWatches();
    await until(() => lists(all.proxy, CHANNELS) > before);
    await seesChange(all, 63);
  });

  it('is overloaded gets fewer requests, and none before the delay it asks for', async () => {
    const all = await scene();
    all.proxy.setFault(() => ({
      status: 429,
      headers: { 'retry-after': '1' },
      body: statusObject(429, 'TooManyRequests'),
    }));
    const from = all.proxy.passed.length;
    const begin = performance.now();
    all.proxy.cutWatches();
    await world().apply(all.namespace, 'official', { sync: { interval: '64s' } });
    const watches = (): number => all.proxy.passed.slice(from).filter(({ isWatch }) => isWatch).length;
    await until(() => watches() >= 12);
    // Three kinds, each at most once a second: the fourth round comes after three seconds.
    expect(performance.now() - begin).toBeGreaterThan(2_500);
    all.proxy.setFault(null);
    await seesChange(all, 64);
  });

  it('refuses the token gets the new one from the file', async () => {
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    await world().apply(namespace, 'official', { sync: { interval: '1h' } });
    const proxy = await startApiProxy(world().plane);
    const tokenFile = join(world().directory, 'rotated-token');
    await writeFile(tokenFile, world().operatorToken);
    const operator = await world().startOperator(namespace, { server: proxy.url, tokenFile, args: [SELDOM] });
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    const { operatorToken, plane } = world();
    proxy.setFault(({ token }) =>
      token === operatorToken ? { status: 401, body: statusObject(401, 'Unauthorized') } : null,
    );
    await writeFile(tokenFile, plane.token);
    proxy.cutWatches();
    await seesChange({ namespace, fake: fake!, proxy, operator }, 65);
    await until(async () => (await fetch(`${operator.url}/readyz`)).ok);
  });

  it('gives no permission is named once per kind, and /readyz says which permission is missing', async () => {
    const namespace = await world().createNamespace();
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/operator`;
    const { body } = await world().plane.request('GET', role);
    const { rules } = body as { rules: Array<{ resources: string[] }> };
    const without = rules.filter(({ resources }) => !resources.includes('services'));
    const setRules = async (value: object): Promise<void> => {
      const patch = { contentType: 'application/merge-patch+json', body: { rules: value } };
      expect((await world().plane.request('PATCH', role, patch)).status).toBe(200);
    };
    await setRules(without);
    await untilForbidden(`/api/v1/namespaces/${namespace}/services`);
    const operator = await world().startOperator(namespace);
    const line = 'no permission to list and watch services: grant the operator list and watch on it';
    await until(async () => {
      const answer = await fetch(`${operator.url}/readyz`);
      const { problems } = (await answer.json()) as { problems: string[] };
      return answer.status === 503 && problems.includes(line);
    });
    await setRules(rules);
    await until(async () => (await fetch(`${operator.url}/readyz`)).ok);
    expect((await fetch(`${operator.url}/livez`)).status).toBe(200);
    await operator.stop();
    expect(operator.lines.filter((each) => each.includes(line))).toHaveLength(1);
  });

  it('denies access to Secrets is named in the status and at /readyz, until it allows it', async () => {
    const namespace = await world().createNamespace();
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/operator`;
    const { body } = await world().plane.request('GET', role);
    const { rules } = body as { rules: Array<{ resources: string[] }> };
    const setRules = async (value: object): Promise<void> => {
      const patch = { contentType: 'application/merge-patch+json', body: { rules: value } };
      expect((await world().plane.request('PATCH', role, patch)).status).toBe(200);
    };
    await setRules(rules.filter(({ resources }) => !resources.includes('secrets')));
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    await world().apply(namespace, 'official');
    await untilForbidden(`/api/v1/namespaces/${namespace}/secrets/admin`);
    const operator = await world().startOperator(namespace);
    await world().untilCondition(namespace, 'official', 'Stalled', 'True', 'TokenSecretForbidden');
    await world().untilCondition(namespace, 'official', 'Serving', 'True');
    const { problems } = (await (await fetch(`${operator.url}/readyz`)).json()) as { problems: string[] };
    expect(problems).toEqual(['no permission to get secrets']);
    await setRules(rules);
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    await until(async () => (await fetch(`${operator.url}/readyz`)).ok);
    await operator.stop();
    const said = operator.lines.filter((line) => line.includes('no permission to get secrets'));
    expect(said).toHaveLength(1);
  });

  it('loses the definition and gets it back is followed again', async () => {
    const all = await scene();
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/releasechannels.slipway.dev';
    await world().plane.request('DELETE', path);
    // The objects are deleted first.
    await until(() => all.fake.schedules.size === 0);
    await until(async () => (await world().plane.request('GET', path)).status === 404);
    await until(async () => (await fetch(`${all.operator.url}/readyz`)).status === 503);
    await installDefinition(world().plane);
    const spec = { sync: { interval: '66s' } };
    await until(async () => (await world().apply(all.namespace, 'official', spec)).status === 201);
    await world().untilCondition(all.namespace, 'official', 'Ready', 'True');
    await until(async () => (await fetch(`${all.operator.url}/readyz`)).ok);
  });

  it('is stopped for a while and started again is followed again, and serving never depended on it', async () => {
    const namespace = await world().createNamespace();
    const [fake] = await startFakes(1);
    await world().expose(namespace, 'slipway', [fake!]);
    await world().apply(namespace, 'official', { sync: { interval: '1h' } });
    const operator = await world().startOperator(namespace);
    await world().untilCondition(namespace, 'official', 'Ready', 'True');
    await world().plane.stopApiServer();
    await until(() => operator.lines.some((line) => line.includes('the lease cannot be read or renewed')));
    fake!.setVerdict('official', 'EntryDamaged');
    await world().plane.startApiServer();
    await world().untilCondition(namespace, 'official', 'Ready', 'False', 'EntryDamaged');
    await until(async () => (await fetch(`${operator.url}/readyz`)).ok);
    await operator.stop();
    expect(operator.lines.filter((line) => line.includes('elected'))).toHaveLength(1);
  });
});
