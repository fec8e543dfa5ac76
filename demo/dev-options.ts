import type { Writable } from 'node:stream';
import type { Clock } from '../src/platform/process/clock.ts';
import { DEFAULT_DATA } from '../src/cli/bundle/find-store.ts';
import { failure, success, type Result } from '../src/domain/result.ts';
import { parseOptions } from '../src/platform/terminal/parse-options.ts';
import { parseDevUpstream, type DevUpstream } from './dev-upstream.ts';

/** The environment of `slipway dev`. */
export interface DevIo {
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable;
  readonly clock: Clock;
  /** The folder that holds `cmd/` and `bin/`. */
  readonly programDirectory: string;
  /** The problems of a file of rules for texts, one line for each. */
  readonly problemsOfRules: (path: string) => Promise<readonly string[]>;
  /** Aborted by Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/** The options of `slipway dev`. */
export interface DevOptions {
  /** Port of the server; 0 takes a free one. */
  readonly port: number;
  /** The one folder that everything lives under. */
  readonly data: string;
  readonly upstream: DevUpstream;
  /** A file whose `parse` section the daemon uses; `null`: the demo's, or the defaults. */
  readonly rules: string | null;
}

/** The public key of a system that runs on this machine, in the default folder. */
const DEFAULT_KEYS = `${DEFAULT_DATA}/keys/signing.pub`;

/** The text of `slipway dev --help`. */
export const DEV_USAGE = `Usage: slipway dev [--port 8080] [--data ${DEFAULT_DATA}] [--upstream UPSTREAM] [--keys FILE] [--rules FILE]
       slipway dev next [--data ${DEFAULT_DATA}]
       slipway dev upstream [--release 1] [--host 127.0.0.1] [--port 9000] [--data upstream]

Starts the daemon and the distribution server on one folder.

  --port N            port of the server on 127.0.0.1; 0 picks a free one
  --data DIR          folder for keys, tokens, configuration, databases and the snapshot
  --upstream UPSTREAM where releases come from; without it, two demo releases:
                      DIR                        a folder
                      URL                        a server-info document (ends in .json), or else
                                                 the root of a manifest upstream (its release.json)
                      slipway+URL                another Slipway, of which this one becomes an edge
                      bundle+DIR                 the folder into which slipway import puts bundles
                      oci+URL/REPOSITORY[:TAG]   bundles in a registry; without a tag, the tags
                                                 official and localized
  --keys FILE         public key of the Slipway that signed them, for the last three; without it
                      ${DEFAULT_KEYS}, the key of one that runs on this machine
  --rules FILE        uses the section parse of this file, as slipway parse --rules does

next plays the next demo release on the one that runs. upstream serves a demo release for a Slipway elsewhere.
`;

/**
 * Parses the arguments of `slipway dev`.
 *
 * @returns the options, or every problem found
 */
export function parseDevOptions(args: readonly string[]): Result<DevOptions, readonly string[]> {
  const parsed = parseOptions({
    args: [...args],
    options: {
      port: { type: 'string' },
      data: { type: 'string' },
      upstream: { type: 'string' },
      keys: { type: 'string' },
      rules: { type: 'string' },
    },
  });
  if (!parsed.ok) return failure([parsed.error]);
  const { values } = parsed.value;
  const problems: string[] = [];
  const port = values.port ?? '8080';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    problems.push(`--port ${port}: give a number from 0 to 65535`);
  const upstream = parseDevUpstream(values.upstream ?? '', values.keys ?? DEFAULT_KEYS);
  if (!upstream.ok) problems.push(upstream.error);
  if (problems.length > 0 || !upstream.ok) return failure(problems);
  return success({
    port: Number(port),
    data: values.data ?? DEFAULT_DATA,
    upstream: upstream.value,
    rules: values.rules ?? null,
  });
}
