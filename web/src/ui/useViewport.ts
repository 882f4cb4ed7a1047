/** Pan and zoom. The drawing moves at once. Shapes are rendered again when the window leaves the rendered part. */

import { startTransition, useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { levelOf, type Level } from '../export/shapes'
import type { Box, Size } from '../layout/compound'
import { partScale, READABLE } from '../model/graph'

export interface View {
  x: number
  y: number
  scale: number
}

export interface Drawn {
  level: Level
  /** The rendered part: the window, and half its size more on each side. */
  area: Box
}

export interface Viewport {
  drawn: Drawn | null
  fit: () => void
  zoom: (factor: number) => void
  show: (box: Box) => void
  center: (x: number, y: number) => void
  /** Calls back on each movement with the visible part of the drawing. */
  watch: (listener: (seen: Box) => void) => () => void
}

/** The scale at which a selected box is shown, if it was too small. */
const FIRST = 0.96
const LEAST = 0.02
const MOST = 3
const MOST_FITTED = 1.25
const MARGIN = 16

export function overlaps(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

function contains(outer: Box, inner: Box, content: Size): boolean {
  const left = Math.max(inner.x, 0)
  const top = Math.max(inner.y, 0)
  const right = Math.min(inner.x + inner.width, content.width)
  const bottom = Math.min(inner.y + inner.height, content.height)
  return left >= outer.x && top >= outer.y && right <= outer.x + outer.width && bottom <= outer.y + outer.height
}

export function useViewport(frame: RefObject<HTMLDivElement | null>, drawing: RefObject<SVGGElement | null>, content: Size, start: Box, selected: Box | null): Viewport {
  const view = useRef<View>({ x: 0, y: 0, scale: 1 })
  const listeners = useRef(new Set<(seen: Box) => void>())
  const isBegun = useRef(false)
  const kept = useRef<Box | null>(selected)
  useEffect(() => {
    kept.current = selected
  }, [selected])
  const [drawn, setDrawn] = useState<Drawn | null>(null)

  const seen = useCallback((): Box => {
    const { x, y, scale } = view.current
    const size = frame.current
    return { x: -x / scale, y: -y / scale, width: (size?.clientWidth ?? 0) / scale, height: (size?.clientHeight ?? 0) / scale }
  }, [frame])

  const apply = useCallback(() => {
    const { x, y, scale } = view.current
    drawing.current?.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`)
    const now = seen()
    for (const listener of listeners.current) listener(now)
    const level = levelOf(scale)
    const draw = (): void =>
      setDrawn((before) => {
        if (before?.level === level && contains(before.area, now, content) && before.area.width < now.width * 6) return before
        const area = { x: now.x - now.width / 2, y: now.y - now.height / 2, width: 2 * now.width, height: 2 * now.height }
        return { level, area }
      })
    // The first picture is rendered at once, later ones while the old one still moves.
    if (isBegun.current) startTransition(draw)
    else draw()
    isBegun.current = true
  }, [content, drawing, seen])

  const zoomAt = useCallback(
    (factor: number, px: number, py: number) => {
      const { x, y, scale } = view.current
      const next = Math.min(MOST, Math.max(LEAST, scale * factor))
      const ratio = next / scale
      view.current = { x: px - (px - x) * ratio, y: py - (py - y) * ratio, scale: next }
      apply()
    },
    [apply],
  )

  const fitted = useCallback((): View | null => {
    const size = frame.current
    if (!size?.clientWidth) return null
    const [width, height] = [size.clientWidth - 2 * MARGIN, size.clientHeight - 2 * MARGIN]
    const scale = Math.min(MOST_FITTED, Math.max(LEAST, Math.min(width / Math.max(1, content.width), height / Math.max(1, content.height))))
    return { scale, x: (size.clientWidth - content.width * scale) / 2, y: (size.clientHeight - content.height * scale) / 2 }
  }, [content, frame])

  const fit = useCallback(() => {
    view.current = fitted() ?? view.current
    apply()
  }, [apply, fitted])

  const center = useCallback(
    (x: number, y: number) => {
      const size = frame.current
      const { scale } = view.current
      view.current = { scale, x: (size?.clientWidth ?? 0) / 2 - x * scale, y: (size?.clientHeight ?? 0) / 2 - y * scale }
      apply()
    },
    [apply, frame],
  )

  /** Move as little as needed to see a box with a margin; a larger one from its beginning. */
  const show = useCallback(
    (box: Box) => {
      const size = frame.current
      if (!size?.clientWidth) return
      if (view.current.scale < READABLE) {
        view.current = { ...view.current, scale: FIRST }
        center(box.x + box.width / 2, box.y + box.height / 2)
      }
      const { x, y, scale } = view.current
      const along = (place: number, length: number, shift: number, frameLength: number): number => {
        const [from, to] = [place * scale + shift - MARGIN, (place + length) * scale + shift + MARGIN]
        if (from < 0 || to - from > frameLength) return shift - from
        return to > frameLength ? shift - (to - frameLength) : shift
      }
      const next = { scale, x: along(box.x, box.width, x, size.clientWidth), y: along(box.y, box.height, y, size.clientHeight) }
      if (next.x === x && next.y === y) return
      view.current = next
      apply()
    },
    [apply, center, frame],
  )

  /** The whole graph if its names are readable; otherwise a part of it in full, and the minimap shows the rest. */
  const open = useCallback(() => {
    const [whole, size] = [fitted(), frame.current]
    if (!whole || !size) return
    if (whole.scale >= READABLE) {
      view.current = whole
      return apply()
    }
    const scale = partScale(content, { width: size.clientWidth - 2 * MARGIN, height: size.clientHeight - 2 * MARGIN })
    const along = (place: number, length: number, all: number, frameLength: number): number => {
      if (all * scale <= frameLength) return (frameLength - all * scale) / 2
      const wanted = frameLength * 0.35 - (place + length / 2) * scale
      return Math.max(frameLength - MARGIN - all * scale, Math.min(MARGIN, wanted))
    }
    view.current = { scale, x: along(start.x, start.width, content.width, size.clientWidth), y: along(start.y, start.height, content.height, size.clientHeight) }
    apply()
  }, [apply, content, fitted, frame, start])

  useLayoutEffect(() => open(), [open])

  useEffect(() => {
    const element = frame.current
    if (!element) return
    let drag: { id: number; x: number; y: number } | null = null
    let size = { width: element.clientWidth, height: element.clientHeight }
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault()
      const box = element.getBoundingClientRect()
      const delta = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY
      zoomAt(Math.exp(-Math.max(-200, Math.min(200, delta)) * 0.0022), event.clientX - box.left, event.clientY - box.top)
    }
    const onDown = (event: PointerEvent): void => {
      if (event.button === 0) drag = { id: event.pointerId, x: event.clientX, y: event.clientY }
    }
    const onMove = (event: PointerEvent): void => {
      if (drag?.id !== event.pointerId) return
      if (!element.hasPointerCapture(event.pointerId)) {
        if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 4) return
        element.setPointerCapture(event.pointerId)
      }
      view.current = { ...view.current, x: view.current.x + event.clientX - drag.x, y: view.current.y + event.clientY - drag.y }
      drag = { id: event.pointerId, x: event.clientX, y: event.clientY }
      apply()
    }
    const onUp = (): void => {
      drag = null
    }
    // When the frame is resized, such as by the details, its center stays, and what is selected stays visible.
    const observer = new ResizeObserver(() => {
      const next = { width: element.clientWidth, height: element.clientHeight }
      if (next.width === size.width && next.height === size.height) return
      if (!size.width || !size.height) open()
      else {
        view.current = { ...view.current, x: view.current.x + (next.width - size.width) / 2, y: view.current.y + (next.height - size.height) / 2 }
        apply()
        if (kept.current) show(kept.current)
      }
      size = next
    })
    observer.observe(element)
    element.addEventListener('wheel', onWheel, { passive: false })
    element.addEventListener('pointerdown', onDown)
    element.addEventListener('pointermove', onMove)
    element.addEventListener('pointerup', onUp)
    element.addEventListener('pointercancel', onUp)
    return () => {
      observer.disconnect()
      element.removeEventListener('wheel', onWheel)
      element.removeEventListener('pointerdown', onDown)
      element.removeEventListener('pointermove', onMove)
      element.removeEventListener('pointerup', onUp)
      element.removeEventListener('pointercancel', onUp)
    }
  }, [apply, open, show, frame, zoomAt])

  const zoom = useCallback(
    (factor: number) => zoomAt(factor, (frame.current?.clientWidth ?? 0) / 2, (frame.current?.clientHeight ?? 0) / 2),
    [frame, zoomAt],
  )
  const watch = useCallback(
    (listener: (box: Box) => void) => {
      listeners.current.add(listener)
      listener(seen())
      return () => void listeners.current.delete(listener)
    },
    [seen],
  )
  return { drawn, fit, zoom, show, center, watch }
}
