using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks.Documents;

/// <summary>A form in which a server could keep a JSON document. A path is the names of members, from the root on, which exist.</summary>
internal abstract class DocumentForm : IDisposable
{
    internal abstract string Name { get; }

    /// <summary>The bytes that the document takes, with what its allocator rounds up.</summary>
    internal abstract long Bytes { get; }

    /// <summary>Takes a document from its text, in place of the one before.</summary>
    internal abstract void Load(byte[] text);

    /// <summary>Writes the text of a member's value.</summary>
    internal abstract void Get(byte[][] path, NativeBuffer output);

    /// <summary>Replaces a member's value by the one of a text.</summary>
    internal abstract void Set(byte[][] path, byte[] text);

    public virtual void Dispose() => GC.SuppressFinalize(this);
}
