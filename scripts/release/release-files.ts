/**
 * What a file in the folder of a release is: `platform`, of the image of one platform; `common`, of every platform; `null` for one
 * that is not of this version.
 */
export function kindOfFile(name: string, version: string): 'platform' | 'common' | null {
  if (name === `slipway-crds-${version}.tgz`) return 'common';
  const prefix = `slipway-${version}`;
  if (!name.startsWith(prefix)) return null;
  const rest = name.slice(prefix.length);
  if (/^-linux-\w+\.(?:tar|cdx\.json)$/.test(rest)) return 'platform';
  return /^(?:\.tgz|\.provenance\.json|-(?:docs|manifests)\.tar\.gz)$/.test(rest) ? 'common' : null;
}
