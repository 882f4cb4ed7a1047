import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { ViewPlan } from '../documents'
import type { GraphModel, Selection } from '../model/graph'
import { search } from '../model/search'

interface Properties {
  plan: ViewPlan
  kind: GraphModel['kind']
  onSelect: (selection: Selection) => void
}

/** Search operators, vertices and tasks by name; `/` focuses it from anywhere. */
export function SearchBox({ plan, kind, onSelect }: Properties) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const list = useId()
  const found = useMemo(() => search(plan, kind, text), [plan, kind, text])
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const choose = (index: number): void => {
    const chosen = found[index]
    if (!chosen) return
    setText('')
    onSelect(chosen.selection)
    document.querySelector<HTMLElement>('.graph-frame')?.focus()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0))
    else if (event.key === 'Enter') choose(at)
    else if (event.key === 'Escape') {
      setText('')
      document.querySelector<HTMLElement>('.graph-frame')?.focus()
    } else return
    event.preventDefault()
  }
  const isOpen = text.trim() !== ''
  return (
    <div className="search">
      <input
        ref={input}
        type="search"
        placeholder="Search  /"
        aria-label="Search operators, vertices and tasks"
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={list}
        aria-activedescendant={isOpen && found.length ? `${list}-${at}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={list} role="listbox" aria-label="Found" hidden={!isOpen}>
        {found.map((entry, index) => (
          <li
            key={index}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            onPointerDown={(event) => {
              event.preventDefault()
              choose(index)
            }}
          >
            {entry.words} <span className="faint">{entry.hint}</span>
          </li>
        ))}
      </ul>
      {isOpen && !found.length && (
        <div className="nothing" role="status">
          nothing is named so
        </div>
      )}
    </div>
  )
}
