import { useEffect, useState } from 'preact/hooks';

/**
 * A component whose file is loaded when it is wanted.
 *
 * @returns `null` until it is loaded, and when its file cannot be: the page works without it
 */
export function useLate<Part>(isWanted: boolean, load: () => Promise<Part>): Part | null {
  const [part, setPart] = useState<Part | null>(null);
  const isMissing = isWanted && part === null;
  useEffect(() => {
    if (!isMissing) return;
    void load()
      .then((loaded) => setPart(() => loaded))
      .catch(() => undefined);
  }, [isMissing]);
  return part;
}
