import { z } from 'zod';
import { listenHost } from '../platform/http/listen-host.ts';
import { LOG_LEVELS } from '../platform/logging/logging.ts';

const port = z.int().min(0).max(65_535);
const filePath = z.string().min(1).max(4096);
const namespace = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be the name of a namespace');

const kubernetes = z
  .strictObject({
    kubeconfig: filePath
      .optional()
      .describe(
        'Kubeconfig file. Default: the files in KUBECONFIG, else the service account of the pod, else ~/.kube/config.',
      ),
    context: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe('Context of the kubeconfig. Default: its current context.'),
  })
  .prefault({})
  .describe('Access to the API server.');

const watch = z
  .strictObject({
    namespaces: z
      .array(namespace)
      .max(64)
      .default([])
      .describe(
        'Namespaces whose ReleaseChannels are reconciled. Empty means all namespaces, which needs a ClusterRole.',
      ),
    silentSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(150)
      .describe(
        'A watch without an event or a bookmark for this time is considered dead, and its objects are listed again.',
      ),
  })
  .prefault({})
  .describe('The objects to watch.');

const election = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Whether a Lease decides which process acts. Set it to false only if there is never a second process.',
      ),
    namespace: namespace
      .optional()
      .describe('Namespace of the Lease. Default: that of the service account or the context.'),
    name: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'must be the name of an object')
      .default('slipway-operator')
      .describe('Name of the Lease.'),
    leaseSeconds: z
      .int()
      .min(2)
      .max(600)
      .default(15)
      .describe('How long a Lease is valid after its last renewal.'),
    renewSeconds: z
      .number()
      .min(1)
      .max(599)
      .default(10)
      .describe('How long the leader acts without a renewal.'),
    retrySeconds: z.number().min(0.1).max(300).default(2).describe('Time between two attempts.'),
  })
  .superRefine(({ leaseSeconds, renewSeconds, retrySeconds }, context) => {
    if (renewSeconds >= leaseSeconds) {
      context.addIssue({
        code: 'custom',
        path: ['renewSeconds'],
        message: 'must be less than leaseSeconds, or two processes could act at the same time',
      });
    }
    if (retrySeconds * 2 > renewSeconds) {
      context.addIssue({
        code: 'custom',
        path: ['retrySeconds'],
        message: 'must be at most half of renewSeconds, or one lost renewal would end the leadership',
      });
    }
  })
  .prefault({})
  .describe('Leader election.');

const reconcile = z
  .strictObject({
    intervalSeconds: z
      .number()
      .min(0.5)
      .max(3600)
      .default(30)
      .describe('Time between two reconciliations of the same ReleaseChannel if nothing changes.'),
    concurrency: z
      .int()
      .min(1)
      .max(64)
      .default(8)
      .describe('ReleaseChannels that are reconciled at the same time.'),
    finalizeSeconds: z
      .number()
      .min(0)
      .max(3600)
      .default(600)
      .describe(
        'How long the operator tries to remove the schedules of a deleted ReleaseChannel. After that, they stay on the server.',
      ),
  })
  .prefault({})
  .describe('Frequency and concurrency of reconciliations.');

const pods = z
  .strictObject({
    timeoutMs: z.int().min(50).max(60_000).default(5_000).describe('Time limit for one answer of a pod.'),
    staleSeconds: z
      .number()
      .min(0.5)
      .max(3600)
      .default(90)
      .describe('How long the last answer of a pod is valid while the pod does not answer.'),
    hostOverride: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe(
        'Host to connect to instead of the address of each pod, for an operator outside the cluster with forwarded ports.',
      ),
  })
  .prefault({})
  .describe('Requests to the pods.');

/** The schema of the operator's configuration. Unknown keys are rejected. */
export const operatorConfigurationSchema = z
  .strictObject({
    kubernetes,
    watch,
    election,
    reconcile,
    pods,
    probes: z
      .strictObject({
        host: listenHost('Address of the probe port'),
        port: port.default(8081).describe('TCP port of /livez and /readyz; 0 picks a free one.'),
      })
      .prefault({})
      .describe('Address of the probes.'),
    metrics: z
      .strictObject({
        host: listenHost('Address of the metrics port'),
        port: port.default(9090).describe('TCP port of /metrics; 0 picks a free one.'),
      })
      .prefault({})
      .describe('Address of the metrics.'),
    log: z
      .strictObject({
        level: z.enum(LOG_LEVELS).default('info').describe('Lowest level that is logged.'),
      })
      .prefault({})
      .describe('The log on standard output.'),
  })
  .describe('Configuration of slipway-operator.');

export type OperatorConfiguration = z.output<typeof operatorConfigurationSchema>;
