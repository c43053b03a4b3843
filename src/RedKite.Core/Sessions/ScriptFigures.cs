namespace RedKite.Server.Sessions;

/// <summary>The memory and number of scripts and functions.</summary>
/// <param name="Scripts">Cached scripts.</param>
/// <param name="ScriptBytes">The bytes of their texts.</param>
/// <param name="EvalBytes">The interpreter that runs them.</param>
/// <param name="Evicted">Scripts dropped from the cache because EVAL had loaded too many.</param>
/// <param name="Libraries">Libraries of functions.</param>
/// <param name="Functions">Functions in them.</param>
/// <param name="LibraryBytes">The bytes of their texts.</param>
/// <param name="FunctionBytes">The interpreter that runs them.</param>
/// <param name="Compilations">Texts that the interpreters have compiled.</param>
internal readonly record struct ScriptFigures(int Scripts, long ScriptBytes, long EvalBytes, long Evicted, int Libraries, int Functions, long LibraryBytes, long FunctionBytes, long Compilations)
{
    // Measured: what the server keeps of a script and of a function beside the interpreter's memory and the text.
    private const int ScriptOverhead = 600;
    private const int FunctionOverhead = 320;

    /// <summary>The cached scripts, without the interpreter.</summary>
    internal long ScriptMemoryBytes => ScriptBytes + ((long)Scripts * ScriptOverhead);

    /// <summary>The libraries, without the interpreter.</summary>
    internal long LibraryMemoryBytes => LibraryBytes + ((long)Functions * FunctionOverhead);

    /// <summary>The interpreters, and all scripts and libraries.</summary>
    internal long TotalBytes => ScriptMemoryBytes + EvalBytes + LibraryMemoryBytes + FunctionBytes;
}

/// <summary>What keeps scripts and functions.</summary>
internal interface IScriptMemory
{
    /// <summary>Their number and memory. From any thread.</summary>
    ScriptFigures Figures();
}
