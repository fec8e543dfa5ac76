import { resolve } from 'node:path';
import { bucketAdvice } from '../src/upstream/upstream-location.ts';
import { failure, success, type Result } from '../src/domain/result.ts';

/** Where the releases come from. */
export type DevUpstream =
  | { readonly kind: 'demo' }
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'manifest' | 'server-info'; readonly url: string }
  | { readonly kind: 'slipway'; readonly url: string; readonly keys: string }
  | { readonly kind: 'bundle'; readonly path: string; readonly keys: string }
  | {
      readonly kind: 'oci';
      readonly url: string;
      readonly repository: string;
      readonly tags: readonly string[];
      readonly keys: string;
    };

/** The tags of a repository that are followed when none is named: one for each channel. */
const DEFAULT_TAGS = ['official', 'localized'];
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;
/** The source of a copy, and the text that names the place. */
const COPY = /^(slipway|bundle|oci)\+(.*)$/s;
const REPOSITORY = /^\/(.+?)(?::(\w[\w.-]{0,127}))?$/;

/**
 * Reads the value of `--upstream`: a folder, a URL, or what another Slipway signed, as `slipway+URL`, `bundle+DIR` or
 * `oci+URL/REPOSITORY[:TAG]`.
 *
 * @param keys the public key of that Slipway
 * @returns the upstream, or one sentence that says what is wrong
 */
export function parseDevUpstream(text: string, keys: string): Result<DevUpstream, string> {
  if (text === '') return success({ kind: 'demo' });
  const [, source, place = ''] = COPY.exec(text) ?? [];
  if (source !== undefined) {
    if (place === '') return failure(`--upstream ${text}: nothing follows ${source}+`);
    if (source === 'bundle') return parseBundles(text, place, keys);
    const url = parseUrl(text, place);
    if (!url.ok) return url;
    return source === 'oci' ? parseRepository(text, url.value, keys) : parseOrigin(url.value, keys);
  }
  if (!URL_START.test(text)) return success({ kind: 'directory', path: text });
  const parsed = parseUrl(text, text);
  if (!parsed.ok) return parsed;
  const url = parsed.value;
  if (url.pathname.endsWith('/release.json')) {
    return success({ kind: 'manifest', url: new URL('.', url).href });
  }
  return success({ kind: url.pathname.endsWith('.json') ? 'server-info' : 'manifest', url: url.href });
}

function parseUrl(text: string, place: string): Result<URL, string> {
  if (!URL_START.test(place)) return failure(`--upstream ${text}: ${place} is not a URL`);
  if (!URL.canParse(place)) return failure(`--upstream ${text}: not a valid URL`);
  const url = new URL(place);
  if (url.protocol === 'http:' || url.protocol === 'https:') return success(url);
  return failure(`--upstream ${text}: ${bucketAdvice(place) ?? 'use a folder or an http(s) URL'}`);
}

function parseOrigin(url: URL, keys: string): Result<DevUpstream, string> {
  return success({ kind: 'slipway', url: url.href, keys });
}

function parseBundles(text: string, path: string, keys: string): Result<DevUpstream, string> {
  return URL_START.test(path)
    ? failure(`--upstream ${text}: after bundle+ comes a folder of bundles; a registry is oci+${path}`)
    : success({ kind: 'bundle', path, keys });
}

function parseRepository(text: string, url: URL, keys: string): Result<DevUpstream, string> {
  const [, repository, tag] = REPOSITORY.exec(url.pathname) ?? [];
  if (repository === undefined || url.search !== '' || url.hash !== '') {
    return failure(
      `--upstream ${text}: name a repository, as in oci+https://registry.example.net/slipway/releases:TAG`,
    );
  }
  const tags = tag === undefined ? DEFAULT_TAGS : [tag];
  url.pathname = '/';
  return success({ kind: 'oci', url: url.href, repository, tags, keys });
}

/**
 * The section `upstream` of the daemon's configuration.
 *
 * @param demoPath the folder of the demo's upstream
 */
export function upstreamSection(upstream: DevUpstream, demoPath: string): object {
  switch (upstream.kind) {
    case 'demo':
      return { kind: 'directory', directory: { path: demoPath } };
    case 'directory':
      return { kind: 'directory', directory: { path: resolve(upstream.path) } };
    case 'manifest':
      return { kind: 'manifest', manifest: { url: upstream.url } };
    case 'server-info':
      return { kind: 'server-info', serverInfo: { url: upstream.url } };
    case 'slipway':
      return { kind: 'slipway', slipway: { url: upstream.url, trustedKeys: [resolve(upstream.keys)] } };
    case 'bundle': {
      const trustedKeys = [resolve(upstream.keys)];
      return { kind: 'bundle', bundle: { path: resolve(upstream.path), trustedKeys } };
    }
    case 'oci': {
      const { url, repository, tags, keys } = upstream;
      return { kind: 'oci', oci: { url, repository, tags: [...tags], trustedKeys: [resolve(keys)] } };
    }
  }
}
