import { z } from 'zod';
import type { ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import { GROUP_VERSION, RELEASE_CHANNEL_KIND } from '../../contract/crd/resource-names.ts';
import { messageOf } from '../../platform/errors.ts';
import { withinDeadline } from '../../platform/http/http-client.ts';
import type { ClusterConnection } from '../../platform/kubernetes/cluster-connection.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { fitToSchema, statusGaps, ValueSchemaRead, type ValueSchema } from './status-schema.ts';

/** What the API server says of the status of a ReleaseChannel. Every authenticated caller may ask, by default. */
export interface ChannelDefinition {
  /** Reads the schema again if the API server has another one. Never throws. @returns whether it was another one */
  refresh(): Promise<boolean>;
  /** Reads it now and a moment later: the API server ends the watches of a changed kind before it tells the new schema. */
  mayHaveChanged(): Promise<void>;
  /** What the schema lacks; `null` while it is not known. */
  gaps(): readonly string[] | null;
  /** The part of a status that the schema takes; all of it while the schema is not known. */
  fit(status: ReleaseChannelStatus): unknown;
  /** What a person should know, or nothing. */
  warnings(): readonly string[];
}

const ROOT = '/openapi/v3';
const GROUP_PATH = `apis/${GROUP_VERSION}`;
const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 15_000;
/** How long the API server may take to tell a changed schema. */
const LAG_MS = 3_000;

/** The index: each document has a URL that changes with its content. */
const IndexRead = z.object({ paths: z.record(z.string(), z.object({ serverRelativeURL: z.string() })) });

const DocumentRead = z.object({
  components: z.object({
    schemas: z.record(
      z.string(),
      z.object({
        'x-kubernetes-group-version-kind': z.array(z.object({ kind: z.string() })).optional(),
        properties: z.object({ status: ValueSchemaRead.optional() }).optional(),
      }),
    ),
  }),
});

interface DefinitionOptions {
  readonly connection: ClusterConnection;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Makes a reader of the definition. Nothing is read before the first `refresh`.
 *
 * @param onRead called after each refresh, with whether the schema was another one
 *
 * Source: Kubernetes documentation, "The Kubernetes API", OpenAPI V3.
 */
export function createChannelDefinition(
  { connection, clock, logger, signal }: DefinitionOptions,
  onRead: (isOther: boolean) => void,
): ChannelDefinition {
  let known: { readonly url: string; readonly schema: ValueSchema | undefined } | null = null;
  let gaps: readonly string[] | null = null;
  let trouble: string | null = null;
  let reading: Promise<boolean> | null = null;

  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T> =>
    await withinDeadline({ timeoutMs: TIMEOUT_MS, signal }, async (limit) => {
      const tooLarge = (): Error => new Error(`${path} exceeds ${ANSWER_MAX_BYTES} bytes`);
      const bytes = await collectBounded(await connection.open(path, {}, limit), ANSWER_MAX_BYTES, tooLarge);
      return schema.parse(JSON.parse(bytes.toString('utf8')));
    });

  const readSchema = async (): Promise<boolean> => {
    const index = await read(ROOT, IndexRead);
    const url = index.paths[GROUP_PATH]?.serverRelativeURL;
    if (url === undefined) throw new Error(`${ROOT} does not list ${GROUP_PATH}`);
    if (url === known?.url) return false;
    const { components } = await read(`${ROOT}/${GROUP_PATH}`, DocumentRead);
    const kinds = Object.values(components.schemas);
    const kind = kinds.find((each) =>
      each['x-kubernetes-group-version-kind']?.some((named) => named.kind === RELEASE_CHANNEL_KIND),
    );
    if (kind === undefined) throw new Error(`the document of ${GROUP_PATH} has no ${RELEASE_CHANNEL_KIND}`);
    known = { url, schema: kind.properties?.status };
    gaps = statusGaps(known.schema);
    return true;
  };

  const readIfChanged = async (): Promise<boolean> => {
    try {
      const isOther = await readSchema();
      trouble = null;
      if (isOther && gaps !== null && gaps.length > 0) logger.warn({ gaps }, describeGaps(gaps));
      return isOther;
    } catch (error) {
      const why = `the schema of ${RELEASE_CHANNEL_KIND} cannot be read: ${messageOf(error)}`;
      if (trouble !== why && !signal.aborted) logger.warn({ err: error }, why);
      trouble = why;
      return false;
    }
  };

  /** Several callers at a time share one answer. */
  const refresh = async (): Promise<boolean> => {
    reading ??= readIfChanged().then((isOther) => {
      reading = null;
      onRead(isOther);
      return isOther;
    });
    return await reading;
  };

  return {
    refresh,
    mayHaveChanged: async () => {
      await refresh();
      await pause(clock, LAG_MS, signal);
      await refresh();
    },
    gaps: () => gaps,
    fit: (status) => (known === null ? status : fitToSchema(status, known.schema)),
    warnings: () => [
      ...(trouble === null ? [] : [trouble]),
      ...(gaps === null || gaps.length === 0 ? [] : [describeGaps(gaps)]),
    ],
  };
}

/** What the definition in the cluster lacks, and what to do. */
export function describeGaps(gaps: readonly string[]): string {
  const [shown, more] = [gaps.slice(0, 5), gaps.length - 5];
  const list = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `the ReleaseChannel definition (CRD) in the cluster is of another version than the operator and does not fit ${list}: apply the definition of the operator's version, slipway.dev_releasechannels.yaml of its chart`;
}
