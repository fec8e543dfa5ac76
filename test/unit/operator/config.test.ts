import { describe, expect, it } from 'vitest';
import { operatorConfigurationSchema } from '../../../src/operator/config.ts';

describe('the configuration of the operator', () => {
  it('needs no settings and has the documented defaults', () => {
    expect(operatorConfigurationSchema.parse({})).toMatchObject({
      watch: { namespaces: [], silentSeconds: 150 },
      election: { enabled: true, leaseSeconds: 15, renewSeconds: 10, retrySeconds: 2 },
      reconcile: { intervalSeconds: 30, finalizeSeconds: 600 },
      probes: { port: 8081 },
      metrics: { port: 9090 },
    });
  });

  it.each([
    ['a lease that could be taken while the leader still acts', { election: { renewSeconds: 15 } }],
    ['a retry that leaves no second chance', { election: { retrySeconds: 6 } }],
    ['a namespace that cannot exist', { watch: { namespaces: ['Bad/Name'] } }],
    ['what it does not know', { unknown: true }],
  ])('refuses %s', (_what, config) => {
    expect(operatorConfigurationSchema.safeParse(config).success).toBe(false);
  });
});
