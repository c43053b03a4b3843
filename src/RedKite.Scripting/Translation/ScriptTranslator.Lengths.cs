namespace RedKite.Scripting.Translation;

/// <content>
/// Lengths. Without holes a table has one length, and # stays as it is. A script that may make holes asks for the length that Lua 5.1 finds
/// (<see cref="Interop.TableLength"/>). A script makes none if its constructors have no element that may be nil beside others, if all it
/// assigns to are names, t[#t + 1] and t[#t], and if it uses none of the functions that may.
/// </content>
internal sealed partial class ScriptTranslator
{
    private const string LengthOfName = "__rk_l";
    private const string LengthOfOther = "__rk_g";
    private const string ExactLengths = "__rk_g() ";
    private const string Insert = "insert";

    private bool _checksLengths;
    private bool _mayMakeHoles;
    private bool _hasLengths;
    private bool _mayBeNil; // the last expression
    private int _arguments; // of the last call; -1: as many as the last one of them has values
    private (int Start, bool IsName, int End) _index; // the last index in brackets: the bracket, whether it is a string, the index's end

    // Functions that set elements, make tables of any values, or compile scripts; arg has the arguments of a function.
    private static bool MakesHoles(string name) => name is "rawset" or "load" or "loadstring" or "cmsgpack" or "setresp" or "setfenv" or "getfenv" or "_G" or "arg";

    // Whether an expression at the end of a list has any number of values; redis.call has one.
    private bool HasAnyCount(ExpressionKind kind) => kind == ExpressionKind.MultipleValues || (kind == ExpressionKind.Call && _call.End != _lastEnd);

    // An element is assigned to. Without the start of the only target there are several.
    private void NoteAssignment(int start)
    {
        if (_source[_lastEnd - 1] != ']' || _index.IsName) return;
        if (start < 0)
        {
            _mayMakeHoles = true;
            return;
        }

        ReadOnlySpan<char> table = _source.AsSpan(start, _index.Start - start);
        string index = _source[(_index.Start + 1).._index.End].Replace(" ", "", StringComparison.Ordinal);
        bool isPath = !table.ContainsAnyExcept(PathCharacters);
        _mayMakeHoles |= !isPath || !index.StartsWith('#') || !index.AsSpan(1).StartsWith(table) || index[(1 + table.Length)..] is not ("" or "+1");
    }

    private static readonly System.Buffers.SearchValues<char> PathCharacters = System.Buffers.SearchValues.Create("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

    private void Length(Token op, int operand, int edits, ExpressionKind kind, string name)
    {
        _hasLengths = true;
        bool isName = kind is ExpressionKind.Local or ExpressionKind.Upvalue or ExpressionKind.Global && _lastEnd - operand == name.Length && !IsReserved(name);
        if (!_checksLengths || isName)
        {
            if (_checksLengths) Edit(op.Start, 0, $"{LengthOfName}({name},");
            MarkOperator(op, "#", "", "");
            if (_checksLengths) InsertHere(")");
            return;
        }

        _edits.Insert(edits, CallOf(LengthOfOther, op, $"\"{NameOf(kind, name)}\""));
        _edits.Insert(edits + 1, new SourceEdit(op.Start, 1, ""));
        InsertHere("))");
    }

    // Lua 5.1 rounds the array of a constructor of more than 15 elements up to a number of four bits and zeros.
    private void FillArray(int elements, bool isSeparated)
    {
        if (!_checksLengths || elements < 16) return;
        int shift = System.Numerics.BitOperations.Log2((uint)elements) - 3;
        int size = ((elements + (1 << shift) - 1) >> shift) << shift;
        for (int i = elements; i < size; i++)
        {
            InsertHere(isSeparated ? "nil," : ",nil");
        }
    }
}
