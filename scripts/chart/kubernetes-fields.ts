/* oxlint-disable typescript/explicit-module-boundary-types -- the type of a schema is the schema */
import { z } from 'zod';

/** Kubernetes checks these itself; the chart passes them on as they are. */
export const kubernetesObject = z.record(z.string(), z.unknown());
/** A list of such objects. */
export const kubernetesList = z.array(kubernetesObject);
/** Labels, annotations and selectors. */
export const strings = z.record(z.string(), z.string());
/** A name of an object, or empty. */
export const name = z
  .string()
  .regex(/^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)?$/, 'must be a name of Kubernetes: lower case');
/** A key of a Secret. */
export const key = z.string().regex(/^[-._a-zA-Z0-9]+$/, 'must be a key of a Secret');

/**
 * A quantity of Kubernetes. YAML makes a number of a plain one.
 *
 * Source: Kubernetes API reference, Quantity.
 */
export const quantity = z.union([
  z.string().regex(
    // Helm shows the pattern alone, so the name of the group is the advice.
    /^(?<a_quantity_such_as_20Gi>[0-9]+(?:\.[0-9]+)?(?:[EPTGMK]i|[EPTGMkmun]|[eE][+-]?[0-9]+)?)$/,
    'must be a quantity such as 20Gi',
  ),
  z.number().min(0),
]);

/** Requests and limits of a container. */
export function resources(cpu: string, memory: string, limit: string) {
  const quantities = z.record(z.string(), quantity);
  return z
    .strictObject({
      requests: quantities.optional(),
      limits: quantities.optional(),
      claims: kubernetesList.optional(),
    })
    .default({
      requests: { cpu, memory, 'ephemeral-storage': '64Mi' },
      limits: { memory: limit, 'ephemeral-storage': '256Mi' },
    })
    .describe('Requests and limits. There is no CPU limit on purpose: it would slow down hashing.');
}

/** Environment variables of a container. */
export const environment = z
  .array(
    z.strictObject({
      name: z.string().min(1),
      value: z.string().optional(),
      valueFrom: kubernetesObject.optional(),
    }),
  )
  .default([])
  .describe('Environment variables, such as NODE_EXTRA_CA_CERTS.');

/** Sources of environment variables of a container. */
export const environmentFrom = z
  .array(
    z.strictObject({
      prefix: z.string().optional(),
      configMapRef: kubernetesObject.optional(),
      secretRef: kubernetesObject.optional(),
    }),
  )
  .default([])
  .describe('ConfigMaps and Secrets whose keys become environment variables.');

/** Mounts of the extra volumes in a container. */
export const volumeMounts = z
  .array(z.looseObject({ name: z.string().min(1), mountPath: z.string().min(1) }))
  .default([])
  .describe('Mounts of extraVolumes.');

const tolerations = z.array(
  z.strictObject({
    key: z.string().optional(),
    operator: z.string().optional(),
    value: z.string().optional(),
    effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute', '']).optional(),
    tolerationSeconds: z.int().optional(),
  }),
);

/**
 * The settings of the pods of one Deployment.
 *
 * @param emptyAffinity what an empty affinity means for these pods
 */
export function pods(what: string, emptyAffinity: string) {
  return z
    .strictObject({
      annotations: strings.default({}),
      labels: strings.default({}),
      priorityClassName: name.default(''),
      nodeSelector: strings.default({}),
      tolerations: tolerations.default([]),
      affinity: kubernetesObject.default({}).describe(emptyAffinity),
      topologySpreadConstraints: kubernetesList.default([]),
      template: z
        .strictObject({
          metadata: z.looseObject({ labels: strings.optional(), annotations: strings.optional() }).optional(),
          spec: kubernetesObject.optional(),
        })
        .default({})
        .describe(
          'Metadata and spec of a pod template that are merged into the pods, for fields without a value of their own. Containers, init containers and volumes are merged by name; other lists are replaced.',
        ),
    })
    .prefault({})
    .describe(what);
}

/** The ServiceAccount of pods. */
export function serviceAccount(what: string) {
  return z
    .strictObject({
      create: z.boolean().default(true).describe('Whether the chart creates it.'),
      name: name.default('').describe('Its name. Empty: that of the pods, or default if it is not created.'),
      annotations: strings.default({}).describe('Annotations, such as the identity of a cloud.'),
    })
    .prefault({})
    .describe(what);
}
