import { bytesSource, type ByteSource } from '../../src/formats/byte-source.ts';
import { parseContainer } from '../../src/localization/parse/container/parse-container.ts';
import type {
  ContainerOutcome,
  ParsedUnit,
} from '../../src/localization/parse/container/parsed-container.ts';
import { compileRules } from '../../src/localization/parse/rules/compile-rules.ts';
import type { LoadedRules } from '../../src/localization/parse/rules/load-rules.ts';
import { parseConfigurationSchema } from '../../src/localization/parse/rules/parse-config.ts';

/** Rules for a test, as {@link loadRules} gives them. */
export interface TestRules {
  /** The `parse` section of a configuration; it names the secrets and files below. */
  readonly configuration?: object;
  readonly secrets?: ReadonlyMap<string, Uint8Array>;
  readonly files?: ReadonlyMap<string, Uint8Array>;
}

/** The units and the outcome of a container. */
export interface ParsedBytes {
  readonly units: readonly ParsedUnit[];
  readonly outcome: ContainerOutcome;
  /** Units of each batch. */
  readonly batches: readonly number[];
}

/** Makes loaded rules of a configuration, its secrets and its files. */
export function loadedRules({
  configuration = {},
  secrets = new Map(),
  files = new Map(),
}: TestRules = {}): LoadedRules {
  const { rules, sourceScript, stableNames } = parseConfigurationSchema.parse({
    secrets: Object.fromEntries([...secrets.keys()].map((name) => [name, `/run/secrets/${name}`])),
    ...configuration,
  });
  return { configuration: { rules, sourceScript, stableNames }, secrets, files };
}

/** Parses a container that is in memory. */
export async function parseBytes(
  destination: string,
  content: string | Uint8Array | ByteSource,
  { scratchDirectory = '/nowhere', ...rules }: TestRules & { readonly scratchDirectory?: string } = {},
): Promise<ParsedBytes> {
  const units: ParsedUnit[] = [];
  const batches: number[] = [];
  const source =
    typeof content === 'string' || content instanceof Uint8Array
      ? bytesSource(Buffer.from(content))
      : content;
  const outcome = await parseContainer(
    { source, destination, destinationKey: destination, scratchDirectory },
    compileRules(loadedRules(rules)),
    async (batch) => {
      batches.push(batch.length);
      for (const unit of batch) units.push(unit);
    },
  );
  return { units, outcome, batches };
}
