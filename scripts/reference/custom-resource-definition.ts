import { stringify } from 'yaml';
import { z } from 'zod';
import type { JsonSchema } from '../../src/contract/json/json-schema.ts';
import {
  ReleaseChannelSpecSchema,
  ReleaseChannelStatusSchema,
} from '../../src/contract/crd/release-channel.ts';
import {
  API_GROUP,
  API_VERSION,
  RELEASE_CHANNEL_KIND,
  RELEASE_CHANNEL_PLURAL,
} from '../../src/contract/crd/resource-names.ts';

/** Longest name of an object: with namespace and purpose it must fit into the id of a schedule. */
export const NAME_MAX = 50;

const READY = '.status.conditions[?(@.type=="Ready")]';
const HEALTHY = '.status.conditions[?(@.type=="Healthy")]';

/** Columns of `kubectl get releasechannels`: the served release, whether it is sound, and since when. */
const PRINTER_COLUMNS = [
  { name: 'Channel', type: 'string', jsonPath: '.spec.channel' },
  { name: 'Release', type: 'string', jsonPath: '.status.release.id', description: 'The current release.' },
  {
    name: 'Base',
    type: 'string',
    jsonPath: '.status.localization.baseRelease',
    description: 'The official release that the localized one is built on.',
  },
  {
    name: 'Pods',
    type: 'string',
    jsonPath: '.status.servingPods',
    description: 'Pods that serve, of all pods.',
  },
  {
    name: 'Edges',
    type: 'string',
    jsonPath: '.status.edges.summary',
    description: 'Edges that serve the current release, of all.',
  },
  {
    name: 'Ready',
    type: 'string',
    jsonPath: `${READY}.status`,
    description: 'Whether every pod serves a sound release.',
  },
  { name: 'Reason', type: 'string', jsonPath: `${READY}.reason` },
  {
    name: 'Health',
    type: 'string',
    jsonPath: `${HEALTHY}.reason`,
    description: 'The reason of the state, as every surface shows it; Healthy when nothing needs attention.',
  },
  {
    name: 'Coverage',
    type: 'string',
    jsonPath: '.status.localization.coverage',
    description: 'Part of the units that a publication would localize.',
  },
  {
    name: 'Sync',
    type: 'string',
    jsonPath: '.status.sync.result',
    description: 'The result of the last sync.',
  },
  {
    name: 'Suspended',
    type: 'boolean',
    jsonPath: '.spec.suspend',
    description: 'Whether spec.suspend is set.',
  },
  { name: 'Since', type: 'date', jsonPath: `${READY}.lastTransitionTime` },
  { name: 'Stale', type: 'boolean', jsonPath: '.status.localization.stale', priority: 1 },
  {
    name: 'Publishable',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Publishable")].status',
    priority: 1,
  },
  {
    name: 'Blocked-Units',
    type: 'integer',
    jsonPath: '.status.localization.units.blocked',
    priority: 1,
  },
  { name: 'Follows', type: 'string', jsonPath: '.status.localization.automation.state', priority: 1 },
  { name: 'Synced', type: 'date', jsonPath: '.status.sync.finishedAt', priority: 1 },
  { name: 'Sync-Reason', type: 'string', jsonPath: '.status.sync.reason', priority: 1 },
  { name: 'Next-Sync', type: 'string', jsonPath: '.status.sync.nextAt', priority: 1 },
  { name: 'Verified', type: 'date', jsonPath: '.status.release.verifiedAt', priority: 1 },
  { name: 'Attested-Until', type: 'string', jsonPath: '.status.release.attestationExpiresAt', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: `${READY}.message`, priority: 1 },
  { name: 'Healthy', type: 'string', jsonPath: `${HEALTHY}.status`, priority: 1 },
  { name: 'Observed', type: 'date', jsonPath: '.status.observedAt', priority: 1 },
  { name: 'Next-Step', type: 'string', jsonPath: `${HEALTHY}.message`, priority: 1 },
] as const;

/** The CustomResourceDefinition of ReleaseChannel, as it is given to the API server. */
export function buildReleaseChannelDefinition(): JsonSchema {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${RELEASE_CHANNEL_PLURAL}.${API_GROUP}`,
      // Helm and Argo CD leave it, and with it every ReleaseChannel, when a release is uninstalled.
      annotations: { 'helm.sh/resource-policy': 'keep', 'argocd.argoproj.io/sync-options': 'Prune=false' },
    },
    spec: {
      group: API_GROUP,
      scope: 'Namespaced',
      names: {
        kind: RELEASE_CHANNEL_KIND,
        listKind: `${RELEASE_CHANNEL_KIND}List`,
        plural: RELEASE_CHANNEL_PLURAL,
        singular: 'releasechannel',
        shortNames: ['relch'],
        categories: ['slipway'],
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: PRINTER_COLUMNS,
          schema: { openAPIV3Schema: releaseChannelSchema() },
        },
      ],
    },
  };
}

/** The YAML document of {@link buildReleaseChannelDefinition}. */
export function renderReleaseChannelDefinition(): string {
  return stringify(buildReleaseChannelDefinition(), { lineWidth: 0, aliasDuplicateObjects: false });
}

function releaseChannelSchema(): JsonSchema {
  return {
    type: 'object',
    description:
      'A release channel of a slipway-server: its desired settings, and what each pod can really serve.',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: structural(ReleaseChannelSpecSchema),
      status: structural(ReleaseChannelStatusSchema),
    },
    'x-kubernetes-validations': [
      {
        rule: `size(self.metadata.name) <= ${NAME_MAX}`,
        message: `the name must have at most ${NAME_MAX} characters: it becomes part of schedule ids`,
      },
    ],
  };
}

function structural(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.type !== 'integer') return;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      jsonSchema.format = 'int64';
    },
  });
}
