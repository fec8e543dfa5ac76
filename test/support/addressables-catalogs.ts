import { OPTIONS_TYPE, type CatalogBundle } from '../../demo/game/catalogs/addressables-json.ts';

const CORE_ASSEMBLY = 'mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089';

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** The bundles of a `catalog.json` by the game's own way of reading: entry, then the object at its position. */
export function bundlesOfJson(text: string): CatalogBundle[] {
  const catalog = JSON.parse(text) as Readonly<Record<string, string>> & {
    readonly m_InternalIds: readonly string[];
  };
  const entries = Buffer.from(catalog['m_EntryDataString'] ?? '', 'base64');
  const objects = Buffer.from(catalog['m_ExtraDataString'] ?? '', 'base64');
  const bundles: CatalogBundle[] = [];
  for (let at = 4; at < entries.length; at += 28) {
    const position = entries.readInt32LE(at + 16);
    if (position < 0) continue;
    const start = position + 3 + OPTIONS_TYPE.assembly.length + OPTIONS_TYPE.class.length;
    const length = objects.readInt32LE(start);
    const options = JSON.parse(objects.toString('utf16le', start + 4, start + 4 + length)) as {
      readonly m_Hash: string;
      readonly m_Crc: number;
      readonly m_BundleName: string;
      readonly m_BundleSize: number;
    };
    bundles.push({
      internalId: catalog.m_InternalIds[entries.readInt32LE(at)] ?? '',
      bundleName: options.m_BundleName,
      hash: options.m_Hash,
      crc: options.m_Crc,
      size: options.m_BundleSize,
    });
  }
  return bundles;
}

const NOTHING = 0xffff_ffff;

/** Appends values, equal ones once, as the builder of Addressables does. */
class StorageBuffer {
  bytes: Buffer = Buffer.alloc(0);
  readonly #known = new Map<string, number>();

  value(bytes: Buffer): number {
    const key = `v${bytes.toString('hex')}`;
    const known = this.#known.get(key) ?? this.bytes.length;
    if (known === this.bytes.length) this.bytes = Buffer.concat([this.bytes, bytes]);
    this.#known.set(key, known);
    return known;
  }

  uint32s(...values: number[]): number {
    return this.value(Buffer.concat(values.map((value) => int32(value | 0))));
  }

  /** With its length in front. */
  sized(bytes: Buffer): number {
    return this.value(Buffer.concat([int32(bytes.length), bytes])) + 4;
  }

  array(values: readonly number[]): number {
    return this.sized(Buffer.concat(values.map((value) => int32(value | 0))));
  }

  text(text: string): number {
    const isAscii = Buffer.byteLength(text) === text.length;
    return isAscii ? this.sized(Buffer.from(text)) : this.sized(Buffer.from(text, 'utf16le')) + 0x8000_0000;
  }

  /** A text from shared parts. */
  joined(text: string, separator: string, isReversed: boolean): number {
    const parts = text.split(separator);
    if (parts.length === 1) return this.text(text);
    let next = NOTHING;
    for (const part of isReversed ? parts : parts.toReversed()) {
      next = this.uint32s(this.text(part), next);
    }
    return 0x4000_0000 + next;
  }
}

/** A `catalog.bin`: an asset for each bundle that depends on it. */
export function binaryCatalog(bundles: readonly CatalogBundle[], version = 2): Buffer {
  const buffer = new StorageBuffer();
  const isReversed = version > 1;
  const joined = (text: string, separator: string): number => buffer.joined(text, separator, isReversed);
  const keysAt = 32 + 4;
  buffer.bytes = Buffer.alloc(keysAt + bundles.length * 8);
  const type = (assembly: string, name: string): number =>
    buffer.uint32s(joined(assembly, '.'), joined(name, '.'));
  const keys = bundles.flatMap((bundle, index) => {
    const hash = buffer.value(Buffer.from(bundle.hash.padStart(32, '0'), 'hex'));
    const common = buffer.uint32s(0x0020_0000, 0);
    const options = buffer.uint32s(hash, joined(bundle.bundleName, '_'), bundle.crc, bundle.size, common);
    const object = buffer.uint32s(type(OPTIONS_TYPE.assembly, OPTIONS_TYPE.class), options);
    const provider = joined('UnityEngine.ResourceManagement.ResourceProviders.AssetBundleProvider', '.');
    const resource = type(OPTIONS_TYPE.assembly, 'UnityEngine.ResourceManagement.IAssetBundleResource');
    const location = buffer.uint32s(
      joined(bundle.bundleName, '/'),
      joined(bundle.internalId, '/'),
      provider,
      NOTHING,
      0,
      object,
      resource,
    );
    const asset = buffer.uint32s(
      joined(`Assets/Scene「${index}」.unity`, '/'),
      joined(`Assets/Scene「${index}」.unity`, '/'),
      provider,
      buffer.array([location]),
      1,
      NOTHING,
      resource,
    );
    const name = buffer.uint32s(
      type(CORE_ASSEMBLY, 'System.String'),
      buffer.value(Buffer.concat([int32(buffer.text(`key${index}`) | 0), Buffer.from('/\0\0\0')])),
    );
    return [name, buffer.array([asset])];
  });
  const init = buffer.array([]);
  const provider = buffer.uint32s(buffer.text('provider'), type(CORE_ASSEMBLY, 'System.Object'), NOTHING);
  const header = [0x0de3_8942, version, keysAt, buffer.text('id'), provider, provider, init, NOTHING];
  const { bytes } = buffer;
  for (const [index, value] of header.entries()) bytes.writeInt32LE(value | 0, 4 * index);
  bytes.writeInt32LE(keys.length * 4, keysAt - 4);
  for (const [index, value] of keys.entries()) bytes.writeInt32LE(value | 0, keysAt + 4 * index);
  return bytes;
}
