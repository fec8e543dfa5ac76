import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/**
 * The width of an element, whole pixels, measured again when it changes. 0 until it is first laid out. Charts are drawn in
 * pixels, because a scaled drawing would also scale its lines and texts.
 */
export function useWidth<E extends Element>(): readonly [RefObject<E | null>, number] {
  const element = useRef<E | null>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    setWidth(Math.floor(current.getBoundingClientRect().width));
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
