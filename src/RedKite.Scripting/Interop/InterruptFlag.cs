namespace RedKite.Scripting.Interop;

/// <summary>
/// A boolean in Lua's memory that every loop and function of a script reads, and that any thread may raise. Scripts cannot name it.
/// </summary>
/// <remarks>
/// <para>
/// It is the upvalue that the prelude and all chunks share. Lua never moves a closed upvalue, and a boolean's value is in its tag:
/// raising the flag is the store of one byte, and reading it costs a script three instructions. Rejected: a hook by count, which
/// slows every instruction down, and cannot be installed from another thread; and a counter, which is checked too late when each step is long.
/// </para>
/// <para>
/// The lock keeps another thread from raising the flag of an interpreter that is being closed. The script's own thread needs no lock.
/// </para>
/// <code>
/// UpVal:  next 8 | type 1, mark 1, padding 6 | pointer to the value 8
/// TValue: payload 8 | tag 1
/// </code>
/// </remarks>
internal sealed unsafe class InterruptFlag
{
    private const int ValueOffset = 16;
    private const int TagOffset = 8;
    private const byte Lowered = 1; // Lua's tags of false and true
    private const byte Raised = 17;

    private readonly Lock _releasing = new();
    private byte* _tag;

    internal bool IsRaised => Volatile.Read(ref *_tag) == Raised;

    /// <summary>Finds the flag: the first upvalue of the function on the top of the stack, which holds false.</summary>
    internal void Attach(nint state)
    {
        nint upvalue = LuaNative.lua_upvalueid(state, -1, 1);
        var tag = (byte*)(*(nint*)(upvalue + ValueOffset) + TagOffset);
        if (*tag != Lowered) throw new InvalidOperationException("The native Lua library lays out its upvalues in another way.");
        _tag = tag;
    }

    /// <summary>Makes scripts ask whether they may continue, at their next step. From any thread.</summary>
    internal void Raise()
    {
        lock (_releasing)
        {
            if (_tag != null) Volatile.Write(ref *_tag, Raised);
        }
    }

    /// <summary>Lowers the flag, on the script's thread.</summary>
    internal void Lower() => Volatile.Write(ref *_tag, Lowered);

    /// <summary>Before the interpreter is closed.</summary>
    internal void Release()
    {
        lock (_releasing) _tag = null;
    }
}
