import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createTallyCounter } from '../../../../src/platform/metrics/tally.ts';

it('counts all additions, across collections', async () => {
  const registry = new Registry();
  const requests = createTallyCounter({ name: 'requests', help: 'Help.', labelNames: ['status'], registry });
  const ok = requests({ status: 200 });
  ok.add(2);
  requests({ status: 404 }).add(1);
  await registry.metrics();
  ok.add(3);
  expect(await registry.metrics()).toBe(
    '# HELP requests Help.\n# TYPE requests counter\nrequests{status="200"} 5\nrequests{status="404"} 1\n',
  );
});
